// Writes src/api.ts from the server's OpenAPI document: of its routes only those that the client calls, and of its
// schemas only those that they need. With --print it writes to standard output, so that a test can compare.
import { readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const routes = [
  ["post", "/iap/sdk/token"],
  ["post", "/iap/sdk/enforce"],
  ["get", "/delegation/poll"],
  ["post", "/iap/audit"],
  ["post", "/iap/plans/{planId}/status"],
];

const document = JSON.parse(readFileSync(new URL("../../../web/openapi.json", import.meta.url), "utf8"));

/** bodiesOf are the schemas of what a route takes and of its success: the client reads nothing else of an error. */
function bodiesOf({ requestBody, responses }) {
  const answers = Object.entries(responses).filter(([status]) => status.startsWith("2"));
  return [requestBody, ...answers.map(([, answer]) => answer)]
    .map((body) => body?.content?.["application/json"]?.schema)
    .filter(Boolean);
}

const schemas = {};
function take(part) {
  for (const [, name] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
    if (schemas[name]) continue;
    schemas[name] = document.components.schemas[name];
    take(schemas[name]);
  }
}
for (const [method, path] of routes) {
  const route = document.paths[path]?.[method];
  if (!route) throw new Error(`the server has no ${method} ${path}`);
  bodiesOf(route).forEach(take);
}

const sorted = Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1)));
const tree = await openapiTS(
  { openapi: document.openapi, info: document.info, paths: {}, components: { schemas: sorted } },
  { defaultNonNullable: false },
);
const head = "// Written by npm run generate from the server's OpenAPI document. Do not change it by hand.";
const text = `${head}\n${astToString(tree)}`;
if (process.argv.includes("--print")) process.stdout.write(text);
else writeFileSync(new URL("../src/api.ts", import.meta.url), text);
