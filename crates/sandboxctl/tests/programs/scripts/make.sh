# A C project whose tests run in parallel.
set -e
mkdir c && cd c
for name in one two three; do
    printf 'int main(void) { return %s; }\n' "$([ $name = two ] && echo 1 || echo 0)" >$name.c
done
printf 'check: one.ok two.ok three.ok\n%%.ok: %%.out\n\t./$< && echo $< >$@\n%%.out: %%.c\n\tcc -o $@ $<\n' >Makefile
make -j2 -k check >out.txt 2>&1 || echo "exit code $?"
grep --no-filename . ./*.ok
