// The addresses of an organization's settings.
import { createRoute } from "@tanstack/react-router";
import { lazyScreen } from "./lazyScreen";
import { frame } from "./router.roots";
import { oneOf, search, text, uuid } from "./search";

export const settings = [
  createRoute({
    getParentRoute: () => frame,
    path: "/settings",
    component: lazyScreen(() => import("../screens/settings/organization"), "OrganizationSettings"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/settings/members",
    component: lazyScreen(() => import("../screens/settings/members"), "Members"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/settings/roles",
    component: lazyScreen(() => import("../screens/settings/roles"), "Roles"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/settings/keys",
    validateSearch: search({ key: uuid }),
    component: lazyScreen(() => import("../screens/settings/keys"), "Keys"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/settings/identity",
    component: lazyScreen(() => import("../screens/settings/identity"), "IdentityProvider"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/settings/webhooks",
    component: lazyScreen(() => import("../screens/settings/webhooks"), "Webhooks"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/settings/webhooks/$id",
    validateSearch: search({ status: oneOf("waiting", "delivered", "dead") }),
    component: lazyScreen(() => import("../screens/settings/webhook"), "Webhook"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/settings/forwarding",
    component: lazyScreen(() => import("../screens/settings/forwarding"), "Forwarding"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/settings/enforcement",
    component: lazyScreen(() => import("../screens/settings/enforcement"), "Enforcement"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/settings/retention",
    component: lazyScreen(() => import("../screens/settings/retention"), "Retention"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/settings/billing",
    validateSearch: search({ checkout: oneOf("done", "left") }),
    component: lazyScreen(() => import("../screens/settings/billing"), "Billing"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/settings/referrals",
    validateSearch: search({ code: text(50) }),
    component: lazyScreen(() => import("../screens/settings/referrals"), "Referrals"),
  }),
] as const;
