# A repository of the host, cloned, committed to, branched.
set -eu
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org
export GIT_AUTHOR_DATE=2020-01-01T00:00:00Z GIT_COMMITTER_DATE=2020-01-01T00:00:00Z
git clone --quiet "file://$PWD/source" clone
cd clone
git switch --quiet --create feature
echo more >> file
git add file
git commit --quiet --message second
git push --quiet origin feature
git log --format='%H %an %s'
git branch --all --verbose
git status --short --branch
git -C ../source log --format=%s feature
git fsck --full 2>&1
