"""What both tools cost, beside line_profiler and memray; `make bench` runs it.

Method: one worker process a tool stays alive and times a task when told to. The workers take turns
(A B C A B C ...), each sample is short and stands between two runs of a fixed loop; a sample whose
loops were slow was taken in a slow phase of the machine and does not count. The minimum of a
worker's samples is its figure, and only ratios and differences inside one run are reported.
"""
