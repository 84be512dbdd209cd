// What the addresses of the dashboard begin with.
import { createRootRouteWithContext, createRoute, retainSearchParams } from "@tanstack/react-router";
import type { queryClient } from "./queries";
import { search, text } from "./search";
import { Shell } from "./shell/Shell";
import { signInFirst } from "./signInFirst";

export const root = createRootRouteWithContext<{ queryClient: typeof queryClient }>()({
  validateSearch: search({ org: text(40) }),
  // Every link stays in the organization that is shown.
  search: { middlewares: [retainSearchParams(["org"])] },
});

// Screens in the frame, for people who are signed in.
export const frame = createRoute({
  getParentRoute: () => root,
  id: "frame",
  component: Shell,
  beforeLoad: signInFirst,
});

// Pages without the frame.
export const bare = createRoute({ getParentRoute: () => root, id: "bare" });
