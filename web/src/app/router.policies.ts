// The addresses of policies.
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { frame } from "./router.roots";
import { oneOf, search, text, uuid, whole } from "./search";

export const policies = [
  createRoute({
    getParentRoute: () => frame,
    path: "/policies",
    validateSearch: search({ status: oneOf("draft", "active", "inactive") }),
    component: lazyRouteComponent(() => import("../screens/policies/screen"), "Policies"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/policies/new",
    validateSearch: search({ from: oneOf("words", "agent", "template", "text"), agent: text(), template: text(100) }),
    component: lazyRouteComponent(() => import("../screens/policies/new"), "NewPolicy"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/policies/proposals",
    component: lazyRouteComponent(() => import("../screens/policies/proposals"), "Proposals"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/policies/proposals/$id",
    component: lazyRouteComponent(() => import("../screens/policies/proposal"), "ProposalDetail"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/policies/$id",
    validateSearch: search({
      tab: oneOf("edit", "tests", "replay", "shadow", "versions", "bindings", "findings"),
      from: whole,
      to: whole,
      line: whole,
      replay: uuid,
    }),
    component: lazyRouteComponent(() => import("../screens/policies/policy"), "PolicyDetail"),
  }),
];
