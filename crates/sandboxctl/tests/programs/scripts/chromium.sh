# Chromium takes a screenshot of a page, in a font of the system.
set -e
mkdir chromium && cd chromium
printf '<!doctype html><meta charset="utf-8"><body style="font: 40px DejaVu Sans">Sandbox äöü ✓</body>' >page.html
printf '<!doctype html><meta charset="utf-8"><body style="font: 40px monospace">Sandbox äöü ✓</body>' >other.html
for page in page other; do
    chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=600,300 --user-data-dir="$HOME/profile" \
        --screenshot="$PWD/$page.png" "file://$PWD/$page.html" 2>out.txt || { cat out.txt >&2; exit 1; }
    sha256sum $page.png
done
fc-match -f '%{file}\n' 'DejaVu Sans'
# The control: the font counts.
! cmp -s page.png other.png
