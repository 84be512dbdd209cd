/** Words of asking for access, for people without an account. */
export const askAccess = {
  title: "Ask for access",
  help: "The people who run this server read it and answer by mail.",
  email: "E-mail",
  name: "Your name",
  company: "Company",
  message: "What you want it for",
  optional: "If you like.",
  send: "Send",
  received: (email: string) =>
    `Your request is received. The answer goes to ${email}; if this address asked before, that request counts.`,
  /** Refusals that pass: within a minute, or once others were answered. */
  soon: "Several requests came from here just now. You can send yours in a minute; what you wrote stays.",
  later: "Very many requests wait for an answer at the moment. Please ask again in an hour; what you wrote stays.",
  left: (seconds: number) => (seconds <= 120 ? `In ${seconds} s.` : `In about ${Math.ceil(seconds / 60)} minutes.`),
  ask: "Ask for access",
};
