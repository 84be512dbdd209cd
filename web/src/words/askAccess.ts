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
  /** A refusal that passes: soon, or after others were answered. */
  wait: (seconds: number) =>
    seconds <= 120
      ? `Several requests came from here just now. You can send yours in ${seconds} s; what you wrote stays.`
      : `Very many requests wait for an answer at the moment. Please ask again in about ${Math.ceil(seconds / 60)} minutes; what you wrote stays.`,
  ask: "Ask for access",
};
