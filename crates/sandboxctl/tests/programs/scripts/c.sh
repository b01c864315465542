# A program with threads, compiled and run.
set -eu
cat > program.c <<'PROGRAM'
#include <pthread.h>
#include <stdio.h>

static void *square(void *number)
{
    *(long *)number *= *(long *)number;
    return NULL;
}

int main(void)
{
    long numbers[] = {2, 3, 4};
    pthread_t threads[3];
    for (int at = 0; at < 3; at++)
        pthread_create(&threads[at], NULL, square, &numbers[at]);
    for (int at = 0; at < 3; at++)
        pthread_join(threads[at], NULL);
    printf("%ld %ld %ld\n", numbers[0], numbers[1], numbers[2]);
    return 0;
}
PROGRAM
gcc -O2 -pthread -o program program.c
./program
ls -l program | cut -c1-10
