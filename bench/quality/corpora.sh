#!/usr/bin/env bash
# Copies the documentation that the question sets are about out of installed Debian 12 packages: corpora.sh FOLDER
# Packages: python3.11-doc postgresql-doc-15 git-doc man-db manpages systemd openssh-client debian-handbook
#           debian-reference-en developers-reference sqlite3-doc postfix-doc gimp-help-en
# A set whose packages are not installed is left out.
set -euo pipefail
out=${1:?name the folder to copy to: corpora.sh FOLDER}

python=/usr/share/doc/python3.11/html
if [ -d "$python" ]; then
  mkdir -p "$out/python/corpus"
  cp -rL "$python/." "$out/python/corpus/"
  # Lists of links, search pages and the pages' sources hold no statement, only every word of the other pages.
  (cd "$out/python/corpus" && rm -rf _* genindex* py-modindex* search.html contents.html)
fi

postgres=/usr/share/doc/postgresql-doc-15/html
if [ -d "$postgres" ]; then
  mkdir -p "$out/postgres/corpus"
  cp -rL "$postgres/." "$out/postgres/corpus/"
fi

mkdir -p "$out/man/corpus"
for section in 5 7 8; do
  find "/usr/share/man/man$section" -name '*.gz' -type f ! -name 'perl*' -exec cp {} "$out/man/corpus/" \;
done
for name in bash chmod cp crontab curl date dd df diff dmesg dpkg du find flock free gpg grep gzip head ionice jq journalctl kill less \
  ln ls lsattr make man mktemp mv nice nohup od passwd paste patch ps rm rsync sed sha256sum sort split ssh ssh-agent ssh-keygen \
  stat strace systemctl tail tar tee test timeout top touch tr truncate uniq wc wget xargs xz git git-bisect git-clean git-fetch \
  git-gc git-log git-merge git-push git-rebase git-reset git-stash git-worktree loginctl timedatectl hostnamectl systemd-analyze \
  systemd-run; do
  if [ -f "/usr/share/man/man1/$name.1.gz" ]; then cp -L "/usr/share/man/man1/$name.1.gz" "$out/man/corpus/"; fi
done
rm -f "$out"/man/corpus/{charmap,repertoiremap,Compose,XCompose}*

if [ -d /usr/share/doc/debian-handbook/html/en-US ]; then
  mkdir -p "$out/debian/corpus"/{reference,developers,news,readme}
  cp -rL /usr/share/doc/debian-handbook/html/en-US "$out/debian/corpus/handbook"
  cp /usr/share/debian-reference/ch*.en.html "$out/debian/corpus/reference/"
  cp -rL /usr/share/developers-reference/*.html "$out/debian/corpus/developers/" 2>/dev/null ||
    cp -rL /usr/share/doc/developers-reference/docs/*.html "$out/debian/corpus/developers/"
  for package in bash coreutils make tar grep findutils strace e2fsprogs groff-base wget gettext gnupg; do
    for file in "/usr/share/doc/$package"/NEWS*; do
      if [ -f "$file" ]; then cp -L "$file" "$out/debian/corpus/news/$package-$(basename "$file")"; fi
    done
  done
  for file in /usr/share/doc/*/README.Debian*; do
    cp -L "$file" "$out/debian/corpus/readme/$(basename "$(dirname "$file")")-$(basename "$file")"
  done
fi

# Pages of one set, without images and lists of links: pages FOLDER-OF-THE-PACKAGE SET
pages() {
  if [ -d "$1" ]; then
    mkdir -p "$out/$2/corpus"
    (cd "$1" && find . -follow -name '*.html' -type f -exec cp --parents {} "$out/$2/corpus/" \;)
  fi
}

pages /usr/share/doc/sqlite3 sqlite
pages /usr/share/doc/postfix/html postfix
pages /usr/share/gimp/2.0/help/en gimp
for set in sqlite postfix gimp; do
  if [ -d "$out/$set/corpus" ]; then
    (cd "$out/$set/corpus" && rm -rf releaselog syntax syntax{,diagrams}.html doc_*link*.html doc_*crossref.html \
      {c3ref,session}/{const,func,obj}list.html \
      {index,capi3ref,doclist,docs,download,fileformat,hp1,keyword_index,requirements,sitemap,sqlite,postfix-manuals}.html \
      {become-a-gimp-wizard,bibliography,dialogs,filters,getting-started,gimp-function-reference,gimp-help-index}.html \
      {help-missing,menus}.html gfdl-*.html)
  fi
done
