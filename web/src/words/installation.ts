/** Words of what operators do: usage, requests for access, the blog. */
export const installation = {
  title: "Installation",
  tabs: { usage: "Usage", access: "Access", blog: "Blog", operators: "Operators" },
  heads: {
    usage: "Installation usage",
    access: "Requests for access",
    blog: "Posts of the blog",
    operators: "Who runs this installation",
  },
  notOperator: "Only people who run this installation see this. They are named on the server: writd operator add.",
  more: "Show more",
};

/** Words of the list of operators. */
export const operators = {
  help: "They have no right in any organization by it. A command on the server adds and removes them:",
  command: "writd operator add ADDRESS",
  you: "(you)",
  since: "since",
};

/** Words of requests for access, for operators. */
export const access = {
  filter: "Status",
  statuses: { pending: "Waiting", approved: "Approved", rejected: "Rejected", all: "All" },
  badges: { pending: "waits", approved: "approved", rejected: "rejected" },
  none: "No request waits.",
  noneHelp: "People ask at this address, without an account:",
  noneSuch: "No request has this status.",
  showAll: "Show all requests",
  approve: "Approve…",
  reject: "Reject…",
  again: "Send another link…",
  answered: "Answered",
  byYou: "by you",
  by: "by",
  invitedTo: "invited to",
  asRole: (role: string) => `as ${role}`,
  reason: "Reason:",
  approveTitle: (email: string) => `Approve the request of ${email}?`,
  approveHelp:
    "Nothing proves that the address belongs to the person who wrote this. Only whoever reads its mail can go on.",
  gets: "The person gets",
  link: "a link to register",
  invitation: (organization: string) => `an invitation to ${organization}`,
  linkHelp: "It works for 7 days, for this address alone, also where only invited people can register.",
  role: "Role",
  approveAct: "Approve",
  linkSent: (email: string) => `A link to register is on its way to ${email}.`,
  invited: (email: string) => `An invitation is on its way to ${email}.`,
  againTitle: (email: string) => `Send another link to ${email}?`,
  againHelp: "It works for 7 days. The link before it no longer works.",
  againAct: "Send the link",
  rejectTitle: (email: string) => `Reject the request of ${email}?`,
  rejectReason: "Reason",
  rejectHint: "The person reads it in a mail. The answer is final.",
  rejectAct: "Reject",
  rejected: (email: string) => `The request of ${email} is rejected.`,
};
