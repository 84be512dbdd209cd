-- Dear traces are found without reading the cheap ones: the index has them by class of cost, each four times the one
-- before, from a tenth of a cent on. Traces that cost nothing are not in it, and do not pay for it.
CREATE INDEX trace_by_cost ON trace (org_id, (CASE
  WHEN cost_nanos < 1000000 THEN 0
  WHEN cost_nanos < 4000000 THEN 1
  WHEN cost_nanos < 16000000 THEN 2
  WHEN cost_nanos < 64000000 THEN 3
  WHEN cost_nanos < 256000000 THEN 4
  WHEN cost_nanos < 1024000000 THEN 5
  WHEN cost_nanos < 4096000000 THEN 6
  WHEN cost_nanos < 16384000000 THEN 7
  WHEN cost_nanos < 65536000000 THEN 8
  WHEN cost_nanos < 262144000000 THEN 9
  ELSE 10 END), start_time, id) WHERE cost_nanos > 0;
