/** Words of connecting to MCP servers that have an OAuth of their own. */
export const connection = {
  title: "Connect to an MCP server",
  nothing: "Nobody comes back from anywhere. Begin at the page of the MCP server.",
  notBegun:
    "This answer belongs to nothing that you have begun within ten minutes, or was used before. Connect again at the page of the MCP server.",
  connected: (server: string) => `Connected to ${server}.`,
  connectedHelp:
    "Agents with a key of yours now call it in your name, within your policies. They never see your token.",
  toServer: "To the server",
  consent: "Your consent",
  wanted: "This server is called in the name of each person, who consents at its own authorization server.",
  connect: "Connect",
  again: "Connect again",
  disconnect: "Disconnect",
  disconnected: "Disconnected. The tokens are forgotten.",
  since: "You are connected since",
  at: "at",
};
