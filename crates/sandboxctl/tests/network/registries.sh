# Fetches something small with each client, from a name of its own, and prints what came. All is HTTPS, of a certificate authority that
# only the shared directory has, or of the one in `ca`, which variables name already.
if [ -z "${ca-}" ]; then
    ca=/workspace/ca.pem
    export CURL_CA_BUNDLE=$ca GIT_SSL_CAINFO=$ca PIP_CERT=$ca NODE_EXTRA_CA_CERTS=$ca npm_config_cafile=$ca CARGO_HTTP_CAINFO=$ca \
        REQUESTS_CA_BUNDLE=$ca SSL_CERT_FILE=$ca
fi
cd "$(mktemp -d)" || exit

try() {
    local name=$1 said
    shift
    if said=$(timeout 30 "$@" 2>errors); then echo "$name: ${said##*$'\n'}"; else echo "$name failed: $said $(cat errors)"; fi
}

try curl curl -sS https://curl.example.org/npm/tiny -o /dev/null -w '%{http_code}'

try git git clone --quiet https://git.example.org/git/tiny.git
cat tiny/file

try pip python3 -m pip --isolated download --quiet --no-cache-dir --disable-pip-version-check --cert $ca \
    --index-url https://pip.example.org/simple/ tiny
ls ./*.whl

npm=(npm --registry=https://npm.example.org/npm/ --no-audit --no-fund --no-update-notifier --cache="$PWD/npm")
try 'npm view' "${npm[@]}" view tiny version
echo '{}' >package.json
try 'npm install' "${npm[@]}" install --silent tiny
ls node_modules

mkdir -p crate/src && touch crate/src/lib.rs
printf '[package]\nname = "a"\nversion = "0.1.0"\n[dependencies]\ntiny = { version = "1", registry = "test" }\n' >crate/Cargo.toml
export CARGO_HOME=$PWD/cargo CARGO_REGISTRIES_TEST_INDEX=sparse+https://crates.example.org/crates/
try cargo cargo fetch --quiet --manifest-path crate/Cargo.toml
(cd cargo/registry/cache/* && ls)

# The state of the system's own apt is not inside.
mkdir -p apt/lists/partial apt/archives/partial && touch apt/status
echo 'deb [trusted=yes] https://debian.example.org/debian ./' >apt/sources
apt=(apt-get -qq -o Dir::Etc::SourceList="$PWD/apt/sources" -o Dir::Etc::SourceParts=- -o Dir::State::Lists="$PWD/apt/lists"
    -o Dir::State::Status="$PWD/apt/status" -o Dir::Cache="$PWD/apt" -o APT::Sandbox::User= -o Acquire::https::CaInfo=$ca)
try 'apt-get update' "${apt[@]}" update
try 'apt-get download' "${apt[@]}" download tiny
ls ./*.deb

try node node -e 'fetch("https://node.example.org/npm/tiny").then(answer => console.log(answer.status))'
try requests python3 -c 'import requests; print(requests.get("https://requests.example.org/npm/tiny").status_code)'
try httpx python3 -c 'import httpx; print(httpx.get("https://httpx.example.org/npm/tiny").status_code)'
try raw python3 -c '
import socket, ssl
connection = socket.create_connection(("raw.example.org", 443))
connection = ssl.create_default_context().wrap_socket(connection, server_hostname="raw.example.org")
connection.sendall(b"GET /npm/tiny HTTP/1.1\r\nHost: raw.example.org\r\n\r\n")
print(connection.recv(12).decode())'
