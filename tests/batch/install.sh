#!/usr/bin/env bash
# Installs what tests of jobs on many nodes need and is missing: install.sh VENV/bin FOLDER_OF_CONDOR.
# What cannot be installed here is said, and its tests are skipped.
set -uo pipefail
bin=$1 condor=$2

skipped() { echo "$1 cannot be installed here: its tests are skipped"; }

install() { # Debian packages
    [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null || return 1
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" > /dev/null
}

command -v slurmctld sbatch munged > /dev/null \
    || install slurmctld slurmd slurm-client munge || skipped Slurm

# Debian 12 has no server of HTCondor: that of Debian 13, in a folder of its own.
unpack_condor() {
    command -v mmdebstrap > /dev/null || install mmdebstrap || return 1
    mkdir -p "$(dirname "$condor")"
    mmdebstrap --quiet --variant=minbase --include=minicondor,ca-certificates trixie "$condor"
}
[ -x "$condor/usr/sbin/condor_master" ] || unpack_condor || skipped HTCondor

"$bin/python" -m pip install --quiet "distributed>=2024.1" "dask-jobqueue>=0.9" || skipped Dask
"$bin/python" -m pip install --quiet "htcondor>=24" || echo "without HTCondor's bindings: descriptions are not checked"
