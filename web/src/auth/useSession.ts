import { useSyncExternalStore } from "react";
import { getSession, type Session, subscribe } from "./session";

/** useSession is who is signed in, as this tab knows it. */
export const useSession = (): Session => useSyncExternalStore(subscribe, getSession);
