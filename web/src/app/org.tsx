// Which organization is shown, and what the person may do there.
import { useSuspenseQuery } from "@tanstack/react-query";
import { createContext, use } from "react";
import type { Body } from "../api/client";
import { readStored, store } from "../ui/stored";
import { useOnline } from "../ui/useOnline";
import { words } from "../words/en";
import { meQuery } from "./queries";

export type Organization = Body<"OrganizationBody">;

const Context = createContext<Organization | undefined>(undefined);
export const OrgProvider = Context.Provider;

const key = "writ.organization";

/**
 * chooseOrg is the organization of the address, by its id, or by its name as a terminal says it. Without one it is what this tab showed last, then what any tab did,
 * then the first real one: another tab never changes the organization of this one. Undefined: there is none, or the address
 * names one that the person is not in.
 */
export function chooseOrg(all: Organization[], asked: string | undefined): Organization | undefined {
  const named = (id: string | undefined) => all.find((o) => o.id === id);
  return asked ? (named(asked) ?? onlyOne(all, asked)) : (named(lastOrg()) ?? realOne(all));
}

/** onlyOne is the organization of this name, unless there are several: a name may be anybody's. */
function onlyOne(all: Organization[], name: string): Organization | undefined {
  const called = all.filter((o) => o.name === name);
  return called.length === 1 ? called[0] : undefined;
}

/** realOne is the first organization, but demo data only if there is nothing else: nobody means it without saying so. */
export const realOne = (all: Organization[]) => all.find((o) => !o.demo) ?? all[0];

/** lastOrg is what this tab showed last, or any tab before this one was opened. */
export const lastOrg = () => readStored(key, true) ?? readStored(key);

export function rememberOrg(id: string): void {
  store(key, id, true);
  store(key, id);
}

/** useOrg is the organization that is shown. */
export function useOrg(): Organization {
  const org = use(Context);
  if (!org) throw new Error("no organization");
  return org;
}

/** useOrgIfAny is the same; undefined on the screens that need none, for who is in none. */
export const useOrgIfAny = (): Organization | undefined => use(Context);

/** useMay is undefined if the role allows the action, else why not: pass it as `refused`. */
export function useMay(action: string): string | undefined {
  const org = useOrg();
  const online = useOnline();
  if (!online) return words.shell.offlineRefused;
  return (org.rights as string[]).includes(action) ? undefined : words.shell.roleRefused(org.role, action);
}

export const useMe = () => useSuspenseQuery(meQuery).data;
