import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useOrg } from "../../app/org";
import { verdicts } from "../../ui/Badge";
import type { Filter } from "../../ui/FilterBar";
import { actionWords } from "../../words/actions";
import { deciders } from "../../words/deciders";
import { words } from "../../words/en";
import { type EntrySearch, policyNamesQuery } from "./queries";

const w = words.audit;

const verdictValues = verdicts.map((v) => [v, words.verdicts[v]] as const);

// Parts of Writ that decide beside policies.
const ownDeciders = Object.entries(deciders.names).map(([id, name]) => [id, name ?? id] as const);

/** useFilters is what the lists can be narrowed by; a rule only beside its policy. */
export function useFilters(search: EntrySearch, decisions: boolean): Filter[] {
  const org = useOrg();
  const names = useQuery(policyNamesQuery(org.id)).data;
  return useMemo(() => {
    const policies = [...(names ?? []), ...ownDeciders].map(([id, name]) => [id, name] as const);
    return [
      ...(decisions ? [] : [{ name: "action", label: w.filters.action, values: Object.entries(actionWords) }]),
      { name: "decision", label: w.filters.decision, several: true, values: verdictValues },
      { name: "tool", label: w.filters.tool },
      { name: "server", label: w.filters.server },
      { name: "agent", label: w.filters.agent },
      { name: "policy", label: w.filters.policy, values: policies },
      ...(search.policy || search.rule ? [{ name: "rule", label: w.filters.rule }] : []),
      { name: "session", label: w.filters.session },
      { name: "plan", label: w.filters.plan },
      { name: "actor", label: w.filters.actor },
    ];
  }, [names, decisions, search.policy, search.rule]);
}

/** noteOn is what is to be known about a choice of filters. */
export function noteOn(search: EntrySearch): string | undefined {
  if (search.rule && !search.policy) return w.ruleNeedsPolicy;
  if (search.policy && search.decision?.includes("allow") !== false) return w.policyRefuses;
  return undefined;
}

/** answerable leaves out what no index of the log can answer; noteOn says so. */
export function answerable(search: EntrySearch): EntrySearch {
  const { rule, decision, ...rest } = search;
  const refusals = search.policy ? decision?.filter((v) => v !== "allow") : decision;
  return {
    ...rest,
    ...(rule && search.policy ? { rule } : {}),
    ...(refusals && refusals.length > 0 ? { decision: refusals } : {}),
  };
}
