// The TypeScript client in a real browser, as it was packed: receipts are verified there, and calls fail closed.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { launch } from "../../web/e2e/browser.mjs";

/** inBrowser gives what is wrong with the client in Chromium. */
export async function inBrowser(root) {
  const folder = join(root, "clients/typescript/test/node_modules/@writ/client/dist");
  const vectors = JSON.parse(readFileSync(join(root, "internal/audit/ledger/testdata/vectors.json"), "utf8"));
  const forged = vectors.find(({ problem }) => problem === "signature");
  const server = createServer((request, response) => {
    if (!request.url.endsWith(".js")) return response.writeHead(200, { "Content-Type": "text/html" }).end("<p>a page");
    response.writeHead(200, { "Content-Type": "text/javascript" });
    return response.end(readFileSync(join(folder, request.url)));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const browser = await launch();
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    const got = await page.evaluate(tryIt, [vectors[0], forged]);
    const want = { verified: 1, forged: "NotVerified", undecided: "Denied" };
    return JSON.stringify(got) === JSON.stringify(want) ? [] : [`in a browser: ${JSON.stringify(got)}`];
  } finally {
    await browser.close();
    server.close();
  }
}

/** tryIt runs in the page, whose server knows no route of Writ. */
async function tryIt([good, forged]) {
  const { verifyReceipt, Writ } = await import("/index.js");
  const nameOf = (error) => error.name;
  const verified = await verifyReceipt(good.receipt, good.keys, good);
  return {
    verified: verified.size,
    forged: await verifyReceipt(forged.receipt, forged.keys, forged).catch(nameOf),
    undecided: await new Writ({ url: location.origin, apiKey: "k" }).declare({ goal: "", steps: [] }).catch(nameOf),
  };
}
