import "../ui/tokens.css";
import "../ui/base.css";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { setNonce } from "get-nonce";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { isArriving } from "../auth/arrival";
import { restore } from "../auth/session";
import { applyDensity } from "../ui/density";
import { toast } from "../ui/Toast";
import { applyTheme } from "../ui/theme";
import { words } from "../words/en";
import { answers } from "./lazyScreen";
import { queryClient } from "./queries";
import { router } from "./router";

// Radix adds a style when it locks scrolling, and needs the page's nonce before the first render.
const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce;
if (nonce) setNonce(nonce);

// Asked while the page is built, not after it. What fails here fails again where it is needed.
if (!isArriving()) restore().catch(() => {});

applyDensity();
applyTheme();

// A file of an older build is gone from the server. Without an answer nobody knows: lazyScreen waits for one.
addEventListener("vite:preloadError", async () => {
  if (!(await answers())) return;
  toast(words.shell.updated, { error: true, act: { label: words.shell.reload, run: () => location.reload() } });
});

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  );
}
