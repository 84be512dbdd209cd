// Every address of the dashboard, here and in the files beside this one. A screen is loaded when it is opened.
import { type AnyRoute, createRoute, createRouter } from "@tanstack/react-router";
import { approvalsSearch } from "../screens/approvals/search";
import { entryFields } from "../screens/audit/search";
import { findingFields } from "../screens/findings/search";
import { planFields } from "../screens/plans/search";
import { sessionSearch, sessionsSearch } from "../screens/sessions/search";
import { traceSearch, tracesSearch } from "../screens/traces/search";
import { lazyScreen } from "./lazyScreen";
import { queryClient } from "./queries";
import { RouteError, RouteMissing } from "./RouteError";
import { installation, open } from "./router.installation";
import { policies } from "./router.policies";
import { bare, frame, root } from "./router.roots";
import { settings } from "./router.settings";
import { oneOf, parseSearch, rangeFields, search, stringifySearch, text, whole } from "./search";
import { onFirstLoad } from "./signInFirst";

const framed = [
  createRoute({
    getParentRoute: () => frame,
    path: "/",
    validateSearch: search(rangeFields),
    component: lazyScreen(() => import("../screens/overview/screen"), "Overview"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/start",
    component: lazyScreen(() => import("../screens/start/screen"), "Start"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/findings",
    validateSearch: search(findingFields),
    component: lazyScreen(() => import("../screens/findings/screen"), "Findings"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/findings/$findingId",
    component: lazyScreen(() => import("../screens/findings/detail"), "FindingDetail"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/decisions",
    validateSearch: search(entryFields),
    component: lazyScreen(() => import("../screens/audit/decisions"), "Decisions"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/plans",
    validateSearch: search(planFields),
    component: lazyScreen(() => import("../screens/plans/screen"), "Plans"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/plans/$id",
    validateSearch: search({ step: whole }),
    component: lazyScreen(() => import("../screens/plans/plan"), "PlanDetail"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/audit",
    validateSearch: search(entryFields),
    component: lazyScreen(() => import("../screens/audit/screen"), "AuditLog"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/audit/$index",
    component: lazyScreen(() => import("../screens/audit/entry"), "Entry"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/device",
    validateSearch: search({ user_code: text(20), wanted: text(40) }),
    component: lazyScreen(() => import("../screens/auth/device"), "Device"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/consent",
    validateSearch: search({ request: text(8192) }),
    component: lazyScreen(() => import("../screens/auth/consent"), "Consent"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/connected",
    validateSearch: search({ state: text(200), code: text(2048), iss: text(2048), error: text(200) }),
    component: lazyScreen(() => import("../screens/servers/connected"), "Connected"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/sessions",
    validateSearch: search(sessionsSearch),
    component: lazyScreen(() => import("../screens/sessions/screen"), "Sessions"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/sessions/$id",
    validateSearch: search(sessionSearch),
    component: lazyScreen(() => import("../screens/sessions/session"), "Session"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/traces",
    validateSearch: search(tracesSearch),
    component: lazyScreen(() => import("../screens/traces/screen"), "Traces"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/traces/$id",
    validateSearch: search(traceSearch),
    component: lazyScreen(() => import("../screens/traces/trace"), "TraceDetail"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/approvals",
    validateSearch: search(approvalsSearch),
    component: lazyScreen(() => import("../screens/approvals/screen"), "Approvals"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/approvals/standing",
    component: lazyScreen(() => import("../screens/approvals/standing"), "Standing"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/approvals/figures",
    validateSearch: search({ range: oneOf("7d", "30d", "90d") }),
    component: lazyScreen(() => import("../screens/approvals/figures"), "Figures"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/approvals/$id",
    component: lazyScreen(() => import("../screens/approvals/page"), "ApprovalPage"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/agents",
    validateSearch: search({ status: oneOf("unregistered", "pending", "active", "suspended", "killed") }),
    component: lazyScreen(() => import("../screens/agents/screen"), "Agents"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/agents/$id",
    validateSearch: search({
      tab: oneOf("decisions", "plans", "trust", "traces", "policies", "keys", "certificates", "leases", "trips"),
    }),
    component: lazyScreen(() => import("../screens/agents/agent"), "AgentDetail"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/servers",
    validateSearch: search({ status: oneOf("pending", "approved", "denied") }),
    component: lazyScreen(() => import("../screens/servers/screen"), "Servers"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/servers/$id",
    validateSearch: search({ tab: oneOf("tools", "findings", "calls", "health", "certificates") }),
    component: lazyScreen(() => import("../screens/servers/server"), "ServerDetail"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/inbox",
    validateSearch: search({ only: oneOf("unread") }),
    component: lazyScreen(() => import("../screens/inbox/screen"), "Inbox"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/me",
    component: lazyScreen(() => import("../screens/me/screen"), "Me"),
  }),
  ...policies,
  ...settings,
  ...installation,
  createRoute({
    getParentRoute: () => frame,
    path: "/usage",
    validateSearch: search({
      ...rangeFields,
      by: oneOf("model", "tool", "agent", "session"),
      price: text(500),
      period: oneOf("day", "month"),
    }),
    component: lazyScreen(() => import("../screens/usage/screen"), "Usage"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/design",
    component: lazyScreen(() => import("../screens/design/screen"), "Design"),
  }),
];

const signInSearch = search({ next: text(12_000), email: text(254), problem: oneOf("code") });

const unframed = [
  createRoute({
    getParentRoute: () => bare,
    path: "/sign-in",
    validateSearch: signInSearch,
    component: lazyScreen(() => import("../screens/auth/sign-in"), "SignIn"),
  }),
  createRoute({
    getParentRoute: () => bare,
    path: "/register",
    validateSearch: search({ next: text(12_000), token: text(200) }),
    component: lazyScreen(() => import("../screens/auth/register"), "Register"),
  }),
  createRoute({
    getParentRoute: () => bare,
    path: "/verify",
    validateSearch: signInSearch,
    component: lazyScreen(() => import("../screens/auth/verify"), "Verify"),
  }),
  createRoute({
    getParentRoute: () => bare,
    path: "/reset-password",
    validateSearch: search({ token: text(200) }),
    component: lazyScreen(() => import("../screens/auth/reset"), "Reset"),
  }),
  createRoute({
    getParentRoute: () => bare,
    path: "/invites/accept",
    validateSearch: search({ token: text(200) }),
    component: lazyScreen(() => import("../screens/auth/invite"), "AcceptInvite"),
  }),
  ...open,
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

onFirstLoad(() => {
  for (const { routeId } of router.matchRoutes(router.latestLocation)) {
    const route = (router.routesById as Record<string, AnyRoute | undefined>)[routeId];
    // What fails here fails again where it is shown.
    if (route) router.loadRouteChunk(route)?.catch(() => {});
  }
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
