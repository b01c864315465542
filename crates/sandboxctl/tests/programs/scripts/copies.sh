# Copies with modes, times and attributes, on the same file system and on another one.
set -e
far=$(mktemp -d)
cp -a source near
cp -a source "$far/copy"
mv "$far/copy" back
cp -p source/file kept
install -p -m 640 source/file installed
mkdir unpacked
tar -cf - source | tar -xpf - -C unpacked
tar --xattrs --acls -cf - source | tar --xattrs --acls -xpf - -C "$far"
python3 -c '
import shutil, sys
shutil.copytree("source", "tree")
shutil.copy2("source/file", "second")
shutil.move(sys.argv[1] + "/source", "moved")' "$far"
sed -i s/text/line/ near/file
find near back kept installed unpacked tree second moved -type f -printf '%m %s %TY %p\n' | sort
cat near/file
rm -r "$far"
