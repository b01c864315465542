# A Go module with a dependency beside it, tested and built.
set -e
mkdir -p go/adder go/words && cd go
printf 'module example.org/words\n\ngo 1.18\n' >words/go.mod
printf 'package words\n\nimport "strings"\n\nfunc Count(text string) int { return len(strings.Fields(text)) }\n' >words/words.go
cd adder
printf 'module example.org/adder\n\ngo 1.18\n\nrequire example.org/words v0.0.0\n\nreplace example.org/words => ../words\n' >go.mod
printf 'package main\n\nimport (\n\t"fmt"\n\n\t"example.org/words"\n)\n\nfunc main() { fmt.Println(words.Count("one two three")) }\n' >main.go
cat >main_test.go <<'END'
package main

import (
	"os"
	"testing"

	"example.org/words"
)

func TestCounts(t *testing.T) {
	if words.Count("a b") != 2 {
		t.Fail()
	}
}

func TestIsLeftOut(t *testing.T) { t.Skip() }

func TestFails(t *testing.T) { t.Fatal("as it should") }

func TestWritesWhereTemporaryFilesAre(t *testing.T) {
	if err := os.WriteFile(t.TempDir()+"/file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
END
GOTOOLCHAIN=local GOPROXY=off GOFLAGS=-mod=mod && export GOTOOLCHAIN GOPROXY GOFLAGS
go test -v ./... >out.txt 2>&1 || echo "exit code $?"
grep -E '^ *(---|ok|FAIL)' out.txt | sed -E 's/[0-9.]+s/TIME/'
go vet .
go build -o words . && ./words
