#!/bin/sh
# Make the base of the Debian image where no registry of images is reached: a minimal Debian 12 from
# Debian's packages, imported into Docker. Needs root and debootstrap.
#
#     docker/debian_base.sh                      makes sightplan-base:debian12
#     docker/debian_base.sh NAME[:TAG] [MIRROR]  another name; another archive of packages
set -eu
name=${1:-sightplan-base:debian12}
folder=$(mktemp -d)
trap 'rm -rf --one-file-system "$folder"' EXIT
trap 'exit 130' HUP INT TERM
debootstrap --variant=minbase bookworm "$folder" ${2:+"$2"}
rm -rf "$folder"/var/cache/apt/archives/*.deb "$folder"/var/lib/apt/lists/*
tar -C "$folder" --numeric-owner -c --exclude=./base.tar -f "$folder/base.tar" .
docker import --change 'CMD ["bash"]' --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' "$folder/base.tar" "$name"
