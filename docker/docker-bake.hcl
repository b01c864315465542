# The stock image for those who use bake, from a checkout:
#
#   docker buildx bake --file docker/docker-bake.hcl
#   NAME=registry.example.org/team/sandbox docker buildx bake --file docker/docker-bake.hcl --push
#   docker buildx bake --file docker/docker-bake.hcl entrypoint
#
# What can be set stands in the variables. `sandboxctl build` needs no checkout, and reads sandbox.toml.

variable "NAME" {
  default = "sandbox-image"
}
variable "TAG" {
  default = "latest"
}
variable "BASE" {
  default = "alpine:3.23"
}
variable "RUST" {
  default = "rust:1-alpine"
}
variable "PACKAGES" {
  default = "bash curl git openssh-client python3 nodejs npm"
}
# The version and the commit, which only those who publish know.
variable "VERSION" {
  default = ""
}
variable "REVISION" {
  default = ""
}
# A file of certificates that the build trusts besides the usual ones.
variable "CA_CERTIFICATES" {
  default = ""
}
# The same content dated otherwise is another image.
variable "SOURCE_DATE_EPOCH" {
  default = "1767225600"
}

group "default" {
  targets = ["sandbox"]
}

target "_common" {
  context    = "."
  dockerfile = "docker/Dockerfile"
  platforms  = ["linux/amd64", "linux/arm64"]
  args = {
    RUST              = RUST
    SOURCE_DATE_EPOCH = SOURCE_DATE_EPOCH
  }
  secret = CA_CERTIFICATES == "" ? [] : ["id=ca_certificates,src=${CA_CERTIFICATES}"]
  labels = {
    "org.opencontainers.image.version"  = VERSION == "" ? null : VERSION
    "org.opencontainers.image.revision" = REVISION == "" ? null : REVISION
  }
}

target "sandbox" {
  inherits = ["_common"]
  target   = "sandbox"
  tags     = ["${NAME}:${TAG}"]
  args = {
    BASE     = BASE
    PACKAGES = PACKAGES
  }
}

# The program alone, for `COPY --from`.
target "entrypoint" {
  inherits = ["_common"]
  target   = "entrypoint"
  tags     = ["${NAME}-entrypoint:${TAG}"]
}
