# A site of Django: checked, with its tables made, and asked for a page.
set -e
python3 -m venv .venv
.venv/bin/pip --quiet --disable-pip-version-check install --no-index --find-links wheels django
.venv/bin/django-admin startproject site_of_tests .
.venv/bin/python manage.py check
.venv/bin/python manage.py migrate --no-color | grep -c OK
.venv/bin/python manage.py runserver --noreload 127.0.0.1:8123 >server.txt 2>&1 &
.venv/bin/python - <<'END'
import time, urllib.request
for attempt in range(300):
    try:
        print(urllib.request.urlopen("http://127.0.0.1:8123/").status)
        break
    except OSError:
        time.sleep(0.1)
END
kill $!
