//! The keys of `[image]`.

use std::path::PathBuf;

use super::macros::settings;
use crate::config::form::{AnyText, HostPath, ImageName, ListOf, NonEmptyText, PlatformText, ValueForm};
use crate::config::key::{Flag, Key, Support, TextFormat, TrustRule, ValueKind};
use crate::config::problem::Located;

/// The rows of the table itself.
pub(super) const TABLE: &[Key] = &[Key {
    path: "image",
    kind: ValueKind::Table,
    doc: "How the image for container providers is built.",
    status: Support::Containers,
    ..Key::NONE
}];

settings! {
    /// `[image]`, without the arguments of the build.
    table ImageTable at "image." {
        name: String as ImageName = {
            doc: "The name of the image. Where a project configures its image without a name, it is `sandbox-`, the name \
                 of its directory and some digits.",
            trust: TrustRule::Needed("an image is built under it; not to run one"),
            default: "\"sandbox-image\"",
            example: "\"registry.example.org/team/sandbox\"",
            status: Support::Containers,
            flag: Some(Flag {
                long: "image",
                short: None,
                value: "NAME",
                help: "The image of the container; with it, an engine has to run the sandbox",
            }),
        }
        base: String as ImageName = {
            doc: "The image it starts from, of the Alpine or the Debian family.",
            trust: TrustRule::Needed(
                "it is neither `alpine` nor `debian` of Docker's own, with any tag or digest: a build runs what is in a base",
            ),
            default: "\"alpine:3.23\"",
            example: "\"debian:trixie-slim\"",
            status: Support::Containers,
        }
        packages: Vec<Located<String>> as ListOf<NonEmptyText> = {
            doc: "The packages of the distribution that are installed.",
            trust: TrustRule::Free,
            default: "[\"bash\", \"curl\", \"git\", \"openssh-client\", \"python3\", \"nodejs\", \"npm\"]",
            example: "[\"bash\", \"git\"]",
            status: Support::Containers,
        }
        platforms: Vec<Located<String>> as ListOf<PlatformText> = {
            doc: "The platforms it is built for.",
            trust: TrustRule::Free,
            default: "[\"linux/amd64\", \"linux/arm64\"]",
            example: "[\"linux/amd64\"]",
            status: Support::Containers,
        }
        dockerfile: PathBuf as HostPath = {
            doc: "A Dockerfile of your own, in place of the stock one.",
            trust: TrustRule::Needed("it is set: a build runs its commands"),
            example: "\"docker/Dockerfile\"",
            status: Support::Containers,
        }
        ca_certificates: PathBuf as HostPath = {
            doc: "Certificates that the build trusts besides the usual ones.",
            trust: TrustRule::Needed("it is set: whoever holds such a key can pose as any site"),
            example: "\"~/.config/corp-ca.pem\"",
            status: Support::Containers,
        }
    }
}

/// The rows of the table whose names the file chooses.
pub(super) const BUILD_ARGS: &[Key] = &[
    Key {
        path: "image.build_args",
        kind: ValueKind::Named(TextFormat::Any),
        doc: "Arguments of the build. They stay readable in the image, so they are no place for a secret.",
        default: "{}",
        status: Support::Containers,
        ..Key::NONE
    },
    Key {
        path: "image.build_args.*",
        kind: AnyText::KIND,
        doc: "The value of one argument.",
        example: "\"3.13\"",
        status: Support::Containers,
        trust: TrustRule::Needed("any is set: they decide what a build runs"),
        ..Key::NONE
    },
];
