import type { Body } from "../../api/client";

export type Auth = Body<"MCPAuthBody">;

interface Filled {
  auth: Auth["type"];
  secret: string;
  header: string;
}

/** authOf is how Writ proves to the server that it may call: members of another kind are refused. */
export function authOf({ auth, secret, header }: Filled): Auth {
  switch (auth) {
    case "bearer":
      return { type: auth, token: secret };
    case "api_key":
      return { type: auth, api_key: secret, ...(header.trim() ? { header_name: header.trim() } : {}) };
    default:
      return { type: auth };
  }
}
