// The addresses of what belongs to the installation as a whole: what operators do, and what everybody reads.
import { createRoute, redirect } from "@tanstack/react-router";
import { lazyScreen } from "./lazyScreen";
import { bare, frame } from "./router.roots";
import { oneOf, search } from "./search";

export const installation = [
  // The first of its pages stands for all of them.
  createRoute({
    getParentRoute: () => frame,
    path: "/installation",
    beforeLoad: ({ search }) => {
      throw redirect({ to: "/installation/usage", search, replace: true });
    },
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/installation/usage",
    validateSearch: search({ by: oneOf("day", "month") }),
    component: lazyScreen(() => import("../screens/installation/usage"), "InstallationUsage"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/installation/access",
    validateSearch: search({ status: oneOf("pending", "approved", "rejected", "all") }),
    component: lazyScreen(() => import("../screens/installation/access"), "AccessRequests"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/installation/blog",
    component: lazyScreen(() => import("../screens/installation/posts"), "Posts"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/installation/operators",
    component: lazyScreen(() => import("../screens/installation/operators"), "Operators"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/installation/blog/new",
    component: lazyScreen(() => import("../screens/installation/post"), "NewPost"),
  }),
  createRoute({
    getParentRoute: () => frame,
    path: "/installation/blog/$id",
    component: lazyScreen(() => import("../screens/installation/post"), "EditPost"),
  }),
] as const;

export const open = [
  createRoute({
    getParentRoute: () => bare,
    path: "/request-access",
    component: lazyScreen(() => import("../screens/auth/access"), "AskAccess"),
  }),
  createRoute({
    getParentRoute: () => bare,
    path: "/blog",
    component: lazyScreen(() => import("../screens/blog/screen"), "Blog"),
  }),
  createRoute({
    getParentRoute: () => bare,
    path: "/blog/$slug",
    component: lazyScreen(() => import("../screens/blog/article"), "BlogArticle"),
  }),
] as const;
