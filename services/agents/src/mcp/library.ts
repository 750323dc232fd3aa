/**
 * Loads the client library of the Model Context Protocol on first use. It is an eighth of all code that a start would
 * load, and most installations never call an MCP server.
 */
export function loadLibrary(): Promise<typeof import('@modelcontextprotocol/client')> {
  return import('@modelcontextprotocol/client');
}
