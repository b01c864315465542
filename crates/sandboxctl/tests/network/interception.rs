//! TLS to hosts that the file names is ended by the proxy: clients believe the authority of their sandbox without being told to, the
//! log has each request, and the credential of a server is added outside.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

use crate::clients::{FETCHED, Servers, are_there};
use crate::internet::{Internet, bash, text};
use crate::place::Place;
use crate::secrets::second;
use crate::{everywhere, natively, ready, toolchain};

/// The real credential. It must not be seen inside.
const VALUE: &str = "ghp_the-real-one-4f1d";

/// Writes settings of the caller's behind those that are there.
fn configure(place: &Place, settings: &str) {
    let before = fs::read_to_string(place.home().join(".config/sandboxctl/sandbox.toml")).unwrap_or_default();
    place.write("home/.config/sandboxctl/sandbox.toml", &format!("{before}{settings}"));
}

/// Runs a sandbox whose proxy believes the authority of the servers.
fn run(internet: &Internet, place: &Place, command: &mut Command) -> Output {
    command.env("REAL_KEY", VALUE).env("SSL_CERT_FILE", place.workspace().join("ca.pem"));
    internet.command(command).output().unwrap()
}

fn log(place: &Place, name: &str) -> Vec<Value> {
    let words = [place.path("sandboxctl").into_os_string(), "egress".into(), "log".into(), name.into()];
    let log = text(&place.outside(&words).output().unwrap());
    log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Asks for a URL, with a header if there is one, and prints the status and the begin of the answer.
const FETCH: &str = r#"fetch() { python3 - "$@" <<'END'
import sys, urllib.error, urllib.request
request = urllib.request.Request(sys.argv[1], headers=dict(word.split(": ") for word in sys.argv[2:]))
try:
    answer = urllib.request.urlopen(request)
except urllib.error.HTTPError as error:
    answer = error
print(answer.status, answer.read(70).decode().strip())
END
}"#;

/// Prints who has signed the certificate of a host, as the proxy variables lead there, and without them.
const ISSUERS: &str = r#"
for host in "$@"; do
    python3 - "$host" <<'END'
import socket, ssl, sys
host = sys.argv[1]
connection = socket.create_connection(("127.0.0.1", 61080))
connection.sendall(f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n".encode())
connection.recv(4096)
for connection in (connection, socket.create_connection((host, 443))):
    context = ssl.create_default_context(cafile="/run/sandboxctl/ca-bundle.pem")
    context.load_verify_locations("/workspace/ca.pem")
    if host == "node.example.org":
        # The certificates of the servers lack what Python asks for since 3.13.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    connection = context.wrap_socket(connection, server_hostname=host)
    print(host, dict(pair[0] for pair in connection.getpeercert()["issuer"])["commonName"])
END
done"#;

#[test]
fn a_host_that_is_named_is_intercepted_and_another_is_not() {
    everywhere("interception", |place, internet, who| {
        configure(
            place,
            "[network]\nallow = [\"*.example.org:443\"]\nintercept = [\"curl.example.org\", \"raw.example.org:443\"]\n",
        );
        let _servers = Servers::start(&internet, place, &["web"]);
        let script = format!(
            "{FETCH}\nfetch https://curl.example.org/echo; set -- raw.example.org node.example.org; {ISSUERS}"
        );
        let flags = ["--name=intercepted", "--format=json"];
        let output = run(&internet, place, &mut place.inside(&flags, &bash(&script)));
        let outcome: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let said = outcome["stdout"]["text"].as_str().unwrap_or_default();
        let (ours, theirs) = ("sandboxctl: one sandbox", "tests");
        let expected = format!(
            "200 hello\nraw.example.org {ours}\nraw.example.org {ours}\nnode.example.org {theirs}\nnode.example.org {theirs}\n"
        );
        assert_eq!(said, expected, "{who}: {output:?}");
        let report = outcome["report"].to_string();
        assert!(
            report.contains("it reads what is sent by TLS to curl.example.org, raw.example.org:443"),
            "{who}: {report}"
        );
        let log = log(place, "intercepted");
        let request = log.iter().find(|line| line["path"] == "/echo").unwrap_or(&Value::Null);
        assert_eq!(
            (&request["method"], &request["status"], &request["host"], &request["port"]),
            (&"GET".into(), &200.into(), &"curl.example.org".into(), &443.into()),
            "{who}: {log:?}"
        );
    });
}

#[test]
fn clients_believe_the_authority_of_their_sandbox_without_being_told_to() {
    let test = "clients and interception";
    if !are_there(test) {
        return;
    }
    natively(test, |place, internet, who| {
        let _servers = Servers::start(&internet, place, &["web"]);
        place.write("workspace/sandbox.toml", "[native]\nexpose = [\"rust\"]\n");
        configure(place, "[network]\nallow = [\"*.example.org:443\"]\nintercept = [\"*.example.org\"]\n");
        let script = format!("ca=$SSL_CERT_FILE\n{}", include_str!("registries.sh"));
        let command = place.inside(&["--name=believes"], &bash(&script));
        let mut command = toolchain::lend(place, &toolchain::sysroot(), &command);
        let output = run(&internet, place, &mut command);
        assert_eq!(text(&output), FETCHED, "{who}: {output:?}");
        let log = log(place, "believes");
        let requests = log.iter().filter(|line| line["status"] == 200).count();
        assert!(requests >= 12, "{who}: {log:?}");
    });
}

/// Asks for a URL in both ways that Java has.
const FETCH_BY_JAVA: &str = r"
import java.net.*;
import java.net.http.*;

class Fetch {
    public static void main(String[] words) throws Exception {
        var url = URI.create(words[0]);
        System.out.println(((HttpURLConnection) url.toURL().openConnection()).getResponseCode());
        var request = HttpRequest.newBuilder(url).build();
        System.out.println(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body());
    }
}
";

#[test]
fn java_believes_the_authority_beside_all_others() {
    let test = "Java and interception";
    if !are_there(test) {
        return;
    }
    natively(test, |place, internet, who| {
        let _servers = Servers::start(&internet, place, &["web"]);
        configure(
            place,
            "[network]\nallow = [\"*.example.org:443\"]\nintercept = [\"curl.example.org\"]\n[env.set]\nJAVA_TOOL_OPTIONS = \"-Dof.the.caller=1\"\n",
        );
        place.write("workspace/Fetch.java", FETCH_BY_JAVA);
        let fetch = "java Fetch.java https://curl.example.org/echo 2>&1";
        let script = [
            "cd /workspace; echo $JAVA_TOOL_OPTIONS",
            &format!("{fetch} | grep -v ^Picked"),
            // The control: it is the store that makes Java believe.
            &format!("(unset JAVA_TOOL_OPTIONS; {fetch} | grep -o 'PKIX path building failed' | head -n 1)"),
            "java Fetch.java https://node.example.org/echo 2>&1 | grep -o 'PKIX path building failed' | head -n 1",
            // What the other clients believe, and with the password that programs give for Java's own store.
            "store() { keytool -list -keystore /run/sandboxctl/ca-bundle.jks \"$@\" 2>/dev/null | grep -c trustedCertEntry; }",
            "unset JAVA_TOOL_OPTIONS; in_pem=$(grep -c 'BEGIN CERTIFICATE' /run/sandboxctl/ca-bundle.pem)",
            "[ $in_pem -gt 1 ] && [ $(store -storepass changeit) = $in_pem ] && echo all",
            "[ $(store </dev/null) = $in_pem ] && echo all without a password",
            "keytool -list -keystore /run/sandboxctl/ca-bundle.jks -storepass another | grep -o 'password was incorrect'",
        ]
        .join("\n");
        let output = run(&internet, place, &mut place.inside(&[] as &[&str], &bash(&script)));
        let expected = "-Djavax.net.ssl.trustStore=/run/sandboxctl/ca-bundle.jks -Dof.the.caller=1\n200\nhello\n\
                        PKIX path building failed\nPKIX path building failed\nall\nall without a password\n\
                        password was incorrect\n";
        assert_eq!(text(&output), expected, "{who}: {output:?}");
    });
}

/// Searches what a process inside can read for the value, which is put together, or it would be found in this very command, and for the key
/// of the authority.
const SEARCH: &str = r#"
part=$(printf %s%s the-re al-one)
for found in /proc/*/environ /proc/*/cmdline; do tr '\0' '\n' <$found 2>/dev/null | grep -F "$part"; done
grep -rF --devices=skip "$part" /etc /run /tmp /home /workspace 2>/dev/null
grep -rl --devices=skip 'PRIVATE K''EY' /run /tmp /home/agent /dev/shm 2>/dev/null
echo searched"#;

/// One server that gets a credential below a path, and another one that does not.
const CREDITED: &str = "[network]\nallow = [\"git.example.org:443\", \"curl.example.org:443\"]\n\
    intercept = [\"git.example.org\", \"curl.example.org\"]\n\
    [secrets.git]\nmode = \"proxy\"\nprovider = \"custom\"\nupstream = \"https://git.example.org/git\"\n\
    header = \"Authorization\"\ntemplate = \"Basic x-access-token:{}\"\nenv_var = \"GIT_KEY\"\n\
    source = \"env:REAL_KEY\"\n";

/// What the server is shown: base64 of the name and the value.
const SHOWN: &str = "Basic eC1hY2Nlc3MtdG9rZW46Z2hwX3RoZS1yZWFsLW9uZS00ZjFk";

#[test]
fn the_credential_of_a_server_is_added_and_another_one_is_refused() {
    everywhere("credentials and interception", |place, internet, who| {
        configure(place, CREDITED);
        let servers = Servers::start(&internet, place, &["web"]);
        let script = [
            FETCH,
            "echo ${#GIT_KEY} ${GIT_KEY:0:4}; head=https://git.example.org/git/private/tiny.git/HEAD",
            "fetch $head; fetch $head \"Authorization: token $GIT_KEY\"; fetch $head 'Authorization: token other'",
            // Elsewhere, and below another path, the token is all there is.
            "fetch https://curl.example.org/echo \"Authorization: token $GIT_KEY\"; fetch https://git.example.org/echo",
            SEARCH,
        ]
        .join("\n");
        let output = run(&internet, place, &mut place.inside(&["--name=credited"], &bash(&script)));
        let expected = "68 ghp_\n200 ref: refs/heads/main\n200 ref: refs/heads/main\n\
                        403 {\"error\":\"egress.credential\",\"message\":\"requests to this server get th\n\
                        200 hello\n200 hello\nsearched\n";
        assert_eq!(text(&output), expected, "{who}: {output:?}");
        assert!(!log(place, "credited").iter().any(|line| line.to_string().contains(VALUE)), "{who}");
        // Nor is the key of the authority, or its certificate, where the state of sandboxes is.
        let found = place.command(&["grep", "-rlE", "PRIVATE K[E]Y|one sandbox"]).arg(place.home()).output();
        assert_eq!(text(&found.unwrap()), "", "{who}");
        drop(servers);
        let asked = fs::read_to_string(place.path("servers/asked")).unwrap();
        let (credited, other): (Vec<_>, Vec<_>) = asked.lines().partition(|line| line.contains(" /git/"));
        assert_eq!(credited.len(), 2, "{who}: {asked}");
        assert!(credited.iter().all(|line| line.ends_with(SHOWN)), "{who}: {asked}");
        assert_eq!(other.len(), 2, "{who}: {asked}");
        assert!(other.iter().all(|line| !line.contains("Basic")), "{who}: {asked}");
    });
}

#[test]
fn git_clones_with_a_credential_that_it_does_not_have() {
    natively("git and interception", |place, internet, who| {
        configure(place, CREDITED);
        let servers = Servers::start(&internet, place, &["web"]);
        let script = [
            "cd $(mktemp -d); export GIT_TERMINAL_PROMPT=0",
            "git clone --quiet https://git.example.org/git/private/tiny.git && cat tiny/file",
            "git clone --quiet https://x:$GIT_KEY@git.example.org/git/private/tiny.git again && cat again/file",
            "git -c http.extraHeader='Authorization: Bearer x' clone --quiet https://git.example.org/git/private/tiny.git \
             never 2>&1 | grep -o 'error: 403'",
            "curl -s https://git.example.org/git/private/tiny.git/HEAD",
        ]
        .join("\n");
        let output = run(&internet, place, &mut place.inside(&[] as &[&str], &bash(&script)));
        assert_eq!(
            text(&output),
            "from git\nfrom git\nerror: 403\nref: refs/heads/main\n",
            "{who}: {output:?}"
        );
        drop(servers);
        let asked = fs::read_to_string(place.path("servers/asked")).unwrap();
        assert!(
            asked.lines().count() >= 5 && asked.lines().all(|line| line.ends_with(SHOWN)),
            "{who}: {asked}"
        );
    });
}

#[test]
fn rules_about_requests_decide_within_tls() {
    natively("rules about requests within TLS", |place, internet, who| {
        configure(
            place,
            "[network]\nallow = [\"GET https://curl.example.org/echo\", \"git.example.org:443\"]\n\
             deny = [\"POST https://git.example.org/*\"]\nintercept = [\"curl.example.org\", \"git.example.org\"]\n",
        );
        let _servers = Servers::start(&internet, place, &["web"]);
        let script = "ask() { curl -s -o /dev/null -w '%{http_code} ' \"$@\"; }
            for proxy in '' --noproxy\\ '*'; do
                ask $proxy https://curl.example.org/echo; ask $proxy -X POST https://curl.example.org/echo
                ask $proxy https://curl.example.org/npm/tiny
            done
            cd $(mktemp -d); git clone --quiet https://git.example.org/git/tiny.git 2>&1 | grep -o 'error: 403'";
        let output = run(&internet, place, &mut place.inside(&["--name=decides"], &bash(script)));
        // git asks with GET what there is, and with POST for it.
        assert_eq!(text(&output), "200 403 403 200 403 403 error: 403\n", "{who}: {output:?}");
    });
}

#[test]
fn a_second_command_believes_the_authority_and_has_the_token() {
    everywhere("an exec and interception", |place, internet, who| {
        let plain =
            fs::read_to_string(place.home().join(".config/sandboxctl/sandbox.toml")).unwrap_or_default();
        configure(place, CREDITED);
        let _servers = Servers::start(&internet, place, &["web"]);
        let name = format!("intercepted{}", std::process::id());
        let mut first = place.inside(&[format!("--name={name}")], &["sh", "-c", "echo ready; cat"]);
        first.env("REAL_KEY", VALUE).env("SSL_CERT_FILE", place.workspace().join("ca.pem"));
        let mut first = ready::start(&mut internet.command(&first));
        let head = "https://git.example.org/git/private/tiny.git/HEAD";
        let script = format!(
            "{FETCH}\nfetch {head} \"Authorization: token $GIT_KEY\"; echo $SSL_CERT_FILE; echo $JAVA_TOOL_OPTIONS"
        );
        let output = second(place, &["-eJAVA_TOOL_OPTIONS=-Xmx1g"], &name, &script);
        let expected = "200 ref: refs/heads/main\n/run/sandboxctl/ca-bundle.pem\n\
                        -Djavax.net.ssl.trustStore=/run/sandboxctl/ca-bundle.jks -Xmx1g\n";
        assert_eq!(text(&output), expected, "{who}: {output:?}");
        // A secret without an address of the proxy's own that came into the configuration later.
        place.write("home/.config/sandboxctl/sandbox.toml", &plain);
        configure(place, &CREDITED.replace("GIT_KEY", "OTHER_KEY"));
        let output = second(place, &[], &name, "echo ${OTHER_KEY-none}");
        assert_eq!(text(&output), "none\n", "{who}: {output:?}");
        drop(first.stdin.take());
        assert!(first.wait().unwrap().success(), "{who}");
    });
}

#[test]
fn a_value_that_a_server_refuses_is_read_again() {
    natively("values of interception that expire", |place, internet, who| {
        let asked = place.home().join("asked");
        let source =
            format!("test -e {0} && echo {VALUE} || {{ touch {0}; echo ghp_old; }}", asked.display());
        configure(place, &CREDITED.replace("env:REAL_KEY", &format!("command:{source}")));
        let _servers = Servers::start(&internet, place, &["web"]);
        let script = format!(
            "{FETCH}\nhead=https://git.example.org/git/private/tiny.git/HEAD; fetch $head
            for try in {{1..50}}; do fetch $head | grep ^200 && break; done"
        );
        let output = run(&internet, place, &mut place.inside(&["--name=expires"], &bash(&script)));
        assert_eq!(text(&output), "401 \n200 ref: refs/heads/main\n", "{who}: {output:?}");
        let renewed = log(place, "expires").iter().filter(|line| line["change"] == "renewed").count();
        assert_eq!(renewed, 1, "{who}");
    });
}
