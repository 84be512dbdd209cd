/** subjectOf is the person an access token belongs to. It is not checked here: the server does that. */
export function subjectOf(token: string): string {
  try {
    const claims = JSON.parse(atob((token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/")));
    return typeof claims.sub === "string" ? claims.sub : "";
  } catch {
    return "";
  }
}
