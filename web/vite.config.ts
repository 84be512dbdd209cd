import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The server that `npm run dev` sends everything but the dashboard to.
const server = process.env.WRIT_URL ?? "http://localhost:8080";

export default defineConfig({
  base: "/ui/",
  plugins: [react()],
  html: { cspNonce: "WRIT_NONCE" }, // the server puts a new one in for each request
  build: {
    outDir: ".build",
    assetsInlineLimit: 0,
    target: "es2022",
    manifest: true,
    reportCompressedSize: false,
    modulePreload: { polyfill: false },
    license: false,
  },
  server: { proxy: { "^/(?!ui/)": { target: server } } },
  // The limit is for tests that hang: on a busy machine a sound one takes longer than the usual 5 s.
  test: { environment: "node", include: ["src/**/*.test.{ts,tsx}"], restoreMocks: true, testTimeout: 120_000 },
});
