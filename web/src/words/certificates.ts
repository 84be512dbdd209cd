/** Words of certificates. */
export const certificates = {
  tab: "Certificates",
  ofAgent:
    "With a certificate the agent proves who it is; conditions see it as agent.attested. Issue one: writ cert issue --agent ID --out NAME.",
  ofServer:
    "A certificate is bound to the tools that a person has accepted, until one of them changes. Issue one: writ cert issue --server NAME --out NAME.",
  none: "No certificate was issued.",
  statuses: {
    good: "Good",
    revoked: "Revoked",
    expired: "Expired",
    not_yet_valid: "Not valid yet",
    untrusted: "Authority has ended",
  } as Record<string, string>,
  expires: "expires",
  revoked: "revoked",
  holds: "Tools are those that were accepted",
  ended: "Tools have changed since",
  cut: (n: number) => `The latest ${n} are shown: writ cert list lists all.`,
};
