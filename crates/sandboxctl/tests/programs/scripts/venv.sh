# A virtual environment, made and used.
set -eu
python3 -m venv --without-pip environment
. environment/bin/activate
site=$(python -c 'import site; print(site.getsitepackages()[0])')
echo 'def answer(): return sum(range(10))' > "$site/module.py"
python -c 'import module, sys; print(module.answer(), sys.prefix != sys.base_prefix, sys.prefix)'
python - <<'PROGRAM'
import concurrent.futures, multiprocessing, sqlite3, ssl, subprocess, tempfile
with multiprocessing.Pool(2) as pool:
    print(pool.map(abs, [-1, -2, 3]))
with concurrent.futures.ThreadPoolExecutor() as threads:
    print(list(threads.map(len, ["a", "bb"])))
with tempfile.NamedTemporaryFile() as file:
    connection = sqlite3.connect(file.name)
    connection.execute("create table t (x)")
    connection.execute("insert into t values (42)")
    print(connection.execute("select x from t").fetchall())
print(len(ssl.create_default_context().get_ca_certs()) > 0)
print(subprocess.run(["sh", "-c", "exit 3"]).returncode)
PROGRAM
