# A project of uv, with a dependency and tests.
set -e
python3 -m venv tools
tools/bin/pip --quiet --disable-pip-version-check install --no-index --find-links wheels uv
mkdir project && cd project
version=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
cat >pyproject.toml <<END
[project]
name = "sums"
version = "1"
requires-python = ">=$version"
dependencies = ["iniconfig"]
[dependency-groups]
dev = ["pytest"]
[tool.uv]
environments = ["sys_platform == 'linux'"]
END
printf 'import iniconfig\ndef test_one(): assert iniconfig.IniConfig\ndef test_two(): pass\n' >test_sums.py
export UV_OFFLINE=1 UV_NO_INDEX=1 UV_FIND_LINKS=../wheels UV_PYTHON_DOWNLOADS=never UV_NO_CONFIG=1
../tools/bin/uv --quiet sync
../tools/bin/uv --quiet run pytest -q -p no:cacheprovider | tail -n 1 | sed 's/ in [0-9.]*s.*//'
