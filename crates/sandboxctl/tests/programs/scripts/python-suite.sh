# The test suite of a published project, installed as its developers do. Prints the counts.
set -e
cd "$1"
python3 -m venv .venv
.venv/bin/pip --quiet --disable-pip-version-check install --no-index --find-links ../wheels --editable . pytest hypothesis
# The tests of click's pager race with the pager, outside too.
deselect=tests/test_utils.py::test_echo_via_pager
.venv/bin/pytest -q -p no:cacheprovider --deselect "$deselect" >out.txt 2>&1 || echo "exit code $?"
tail -n 1 out.txt | sed 's/ in [0-9.]*s.*//'
