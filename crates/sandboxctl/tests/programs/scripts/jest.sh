# A project of jest.
set -e
printf '{"name": "sums", "private": true}\n' >package.json
printf 'module.exports = (a, b) => a + b;\n' >sums.js
printf 'const add = require("./sums");\ntest("adds", () => expect(add(1, 2)).toBe(3));\ntest("fails", () => expect(add(1, 1)).toBe(3));\n' >sums.test.js
node node_modules/.bin/jest --ci >out.txt 2>&1 || echo "exit code $?"
grep '^Tests:' out.txt
