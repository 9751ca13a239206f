# SPDX-License-Identifier: MIT
"""`mrrope campaign`: models x plans x measurements from one file, on one machine or a Ray cluster (docs/campaigns.md).

    file.py, reading.py, measurements.py   what the file says
    jobs.py                                what of it is done where: one serving is one job
    folder.py                              what survives: records, plans, who is at work
    work.py, delivery.py, engines/         what a worker does with a job; programs.py and guard.py start programs
    local.py, cluster.py                   who works: this process, or Ray
    progress.py, status.py, costs.py       what people see
    command.py                             the command line
"""
