# Uses servers that speak no HTTP. What the clients need is in the shared directory; `repository` is a path on the server.
cd "$(mktemp -d)" || exit
export GIT_SSH_COMMAND='ssh -i /workspace/key -o IdentitiesOnly=yes -o UserKnownHostsFile=/workspace/known_hosts'
timeout 30 git clone --quiet "ssh://root@git.example.org$repository" && cat tiny/file
export PGPASSWORD=of-the-test PGSSLROOTCERT=/workspace/ca.pem
timeout 30 psql 'host=db.example.org user=agent dbname=postgres sslmode=verify-full' -Atc 'select 6 * 7'
timeout 30 redis-cli -h db.example.org set answer 43
# It sends no server name by itself, and without one nothing passes.
tls=(timeout 30 redis-cli -h db.example.org -p 6380 --tls --cacert /workspace/ca.pem)
"${tls[@]}" --sni db.example.org get answer
"${tls[@]}" get answer 2>&1 | grep -o '^Could not connect'
