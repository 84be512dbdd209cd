// Every address of the dashboard, in one place. A screen is loaded when it is opened.
import {
  type AnyRoute,
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
  retainSearchParams,
} from "@tanstack/react-router";
import { statusOf } from "../api/errors";
import { arrive } from "../auth/arrival";
import { safeNext, takeNext } from "../auth/next";
import { getSession, restore } from "../auth/session";
import { entryFields } from "../screens/audit/search";
import { planFields } from "../screens/plans/search";
import { sessionSearch, sessionsSearch } from "../screens/sessions/search";
import { traceSearch, tracesSearch } from "../screens/traces/search";
import { meQuery, queryClient } from "./queries";
import { RouteError, RouteMissing } from "./RouteError";
import { oneOf, parseSearch, rangeFields, search, stringifySearch, text, whole } from "./search";
import { Shell } from "./shell/Shell";

const root = createRootRouteWithContext<{ queryClient: typeof queryClient }>()({
  validateSearch: search({ org: text(40) }),
  // Every link stays in the organization that is shown.
  search: { middlewares: [retainSearchParams(["org"])] },
});

/** signInFirst sends people who are not signed in to sign in, and back to where they were going. */
async function signInFirst({ location }: { location: { href: string } }) {
  // The screen's own code comes while the session is restored.
  loadScreen();
  const arrival = await arrive();
  if (arrival === "failed") throw redirect({ to: "/sign-in", search: { problem: "code" }, replace: true });
  const next = takeNext();
  if (arrival !== "none" && next) throw redirect({ href: `/ui${safeNext(next)}`, replace: true });
  await restore();
  const signIn = () => {
    const wanted = location.href === "/" ? undefined : location.href;
    return redirect({ to: "/sign-in", search: wanted ? { next: wanted } : {}, replace: true });
  };
  if (getSession().state !== "in") throw signIn();
  try {
    await queryClient.ensureQueryData(meQuery);
  } catch (error) {
    // The session ended, and no page is there yet that could stay.
    if (statusOf(error) === 401) throw signIn();
    throw error;
  }
}

// Set when the router is made, which knows the screens.
let loadScreen: () => void = () => {};

// Screens in the frame, for people who are signed in.
const frame = createRoute({ getParentRoute: () => root, id: "frame", component: Shell, beforeLoad: signInFirst });

// Pages without the frame.
const bare = createRoute({ getParentRoute: () => root, id: "bare" });

const findingKinds = [
  "execution_without_decision",
  "execution_with_other_arguments",
  "execution_not_confined",
  "execution_outside_lease",
  "lease_gap",
  "refused_by_kernel",
  "decision_without_outcome",
  "sequence_gap",
  "result_with_instructions",
  "result_with_secret",
] as const;

const framed = [
  createRoute({
    getParentRoute: () => frame,
    path: "/",
    validateSearch: search(rangeFields),
    component: lazyRouteComponent(() => import("../screens/overview/screen"), "Overview"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/start",
    component: lazyRouteComponent(() => import("../screens/start/screen"), "Start"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/findings",
    validateSearch: search({ kind: oneOf(...findingKinds), state: oneOf("open", "all") }),
    component: lazyRouteComponent(() => import("../screens/findings/screen"), "Findings"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/findings/$findingId",
    component: lazyRouteComponent(() => import("../screens/findings/detail"), "FindingDetail"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/decisions",
    validateSearch: search(entryFields),
    component: lazyRouteComponent(() => import("../screens/audit/decisions"), "Decisions"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/plans",
    validateSearch: search(planFields),
    component: lazyRouteComponent(() => import("../screens/plans/screen"), "Plans"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/plans/$planId",
    validateSearch: search({ step: whole }),
    component: lazyRouteComponent(() => import("../screens/plans/plan"), "PlanDetail"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/audit",
    validateSearch: search(entryFields),
    component: lazyRouteComponent(() => import("../screens/audit/screen"), "AuditLog"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/audit/$index",
    component: lazyRouteComponent(() => import("../screens/audit/entry"), "Entry"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/device",
    validateSearch: search({ user_code: text(20) }),
    component: lazyRouteComponent(() => import("../screens/auth/device"), "Device"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/sessions",
    validateSearch: search(sessionsSearch),
    component: lazyRouteComponent(() => import("../screens/sessions/screen"), "Sessions"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/sessions/$id",
    validateSearch: search(sessionSearch),
    component: lazyRouteComponent(() => import("../screens/sessions/session"), "Session"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/traces",
    validateSearch: search(tracesSearch),
    component: lazyRouteComponent(() => import("../screens/traces/screen"), "Traces"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/traces/$id",
    validateSearch: search(traceSearch),
    component: lazyRouteComponent(() => import("../screens/traces/trace"), "TraceDetail"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/inbox",
    validateSearch: search({ only: oneOf("unread") }),
    component: lazyRouteComponent(() => import("../screens/inbox/screen"), "Inbox"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/me",
    component: lazyRouteComponent(() => import("../screens/me/screen"), "Me"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/settings",
    component: lazyRouteComponent(() => import("../screens/settings/organization"), "OrganizationSettings"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/settings/members",
    component: lazyRouteComponent(() => import("../screens/settings/members"), "Members"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/settings/roles",
    component: lazyRouteComponent(() => import("../screens/settings/roles"), "Roles"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/settings/keys",
    component: lazyRouteComponent(() => import("../screens/settings/keys"), "Keys"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/settings/identity",
    component: lazyRouteComponent(() => import("../screens/settings/identity"), "IdentityProvider"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/settings/webhooks",
    component: lazyRouteComponent(() => import("../screens/settings/webhooks"), "Webhooks"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/settings/webhooks/$id",
    validateSearch: search({ status: oneOf("waiting", "delivered", "dead") }),
    component: lazyRouteComponent(() => import("../screens/settings/webhook"), "Webhook"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/settings/forwarding",
    component: lazyRouteComponent(() => import("../screens/settings/forwarding"), "Forwarding"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/settings/enforcement",
    component: lazyRouteComponent(() => import("../screens/settings/enforcement"), "Enforcement"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/settings/retention",
    component: lazyRouteComponent(() => import("../screens/settings/retention"), "Retention"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/usage",
    validateSearch: search({ ...rangeFields, by: oneOf("model", "tool", "agent", "session"), price: text(500) }),
    component: lazyRouteComponent(() => import("../screens/usage/screen"), "Usage"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/design",
    component: lazyRouteComponent(() => import("../screens/design/screen"), "Design"),
  }),
];

const signInSearch = search({ next: text(2000), email: text(254), problem: oneOf("code") });

const unframed = [
  createRoute({
    getParentRoute: () => bare,
    path: "/sign-in",
    validateSearch: signInSearch,
    component: lazyRouteComponent(() => import("../screens/auth/sign-in"), "SignIn"),
  }),
  createRoute({
    getParentRoute: () => bare,
    path: "/register",
    validateSearch: search({ next: text(2000), token: text(200) }),
    component: lazyRouteComponent(() => import("../screens/auth/register"), "Register"),
  }),
  createRoute({
    getParentRoute: () => bare,
    path: "/verify",
    validateSearch: signInSearch,
    component: lazyRouteComponent(() => import("../screens/auth/verify"), "Verify"),
  }),
  createRoute({
    getParentRoute: () => bare,
    path: "/reset-password",
    validateSearch: search({ token: text(200) }),
    component: lazyRouteComponent(() => import("../screens/auth/reset"), "Reset"),
  }),
  createRoute({
    getParentRoute: () => bare,
    path: "/invites/accept",
    validateSearch: search({ token: text(200) }),
    component: lazyRouteComponent(() => import("../screens/auth/invite"), "AcceptInvite"),
  }),
];

export const router = createRouter({
  routeTree: root.addChildren([frame.addChildren(framed), bare.addChildren(unframed)]),
  basepath: "/ui",
  context: { queryClient },
  parseSearch,
  stringifySearch,
  defaultPreload: "intent",
  defaultErrorComponent: RouteError,
  defaultNotFoundComponent: RouteMissing,
  scrollRestoration: false,
  search: { strict: true },
});

loadScreen = () => {
  for (const { routeId } of router.matchRoutes(router.latestLocation)) {
    const route = (router.routesById as Record<string, AnyRoute | undefined>)[routeId];
    // What fails here fails again where it is shown.
    if (route) router.loadRouteChunk(route)?.catch(() => {});
  }
};

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
