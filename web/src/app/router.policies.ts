// The addresses of policies.
import { createRoute } from "@tanstack/react-router";
import { lazyScreen } from "./lazyScreen";
import { frame } from "./router.roots";
import { oneOf, search, text, uuid, whole } from "./search";

export const policies = [
  createRoute({
    getParentRoute: () => frame,
    path: "/policies",
    validateSearch: search({ status: oneOf("draft", "active", "inactive") }),
    component: lazyScreen(() => import("../screens/policies/screen"), "Policies"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/policies/new",
    validateSearch: search({ from: oneOf("words", "agent", "template", "text"), agent: text(), template: text(100) }),
    component: lazyScreen(() => import("../screens/policies/new"), "NewPolicy"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/policies/proposals",
    component: lazyScreen(() => import("../screens/policies/proposals"), "Proposals"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/policies/proposals/$id",
    component: lazyScreen(() => import("../screens/policies/proposal"), "ProposalDetail"),
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
    component: lazyScreen(() => import("../screens/policies/policy"), "PolicyDetail"),
  }),
];
