/** What repeating a call does: nothing, the same once more without a further effect, or its effect again. */
export type Effect = 'none' | 'idempotent' | 'once';

/** What a call does, by which rules of approval policies and the server's own rules decide. */
export type ToolAction =
  | 'read'
  | 'create'
  | 'write'
  | 'comment'
  | 'delete'
  | 'share'
  | 'publish'
  | 'send'
  | 'fetch'
  | 'spend';

export type Risk = 'low' | 'medium' | 'high';

/** What a person is shown before they decide. */
export interface Preview {
  /** A diff or a text, in Markdown. */
  readonly text: string;
  readonly targets: readonly string[];
  readonly recipients: readonly string[];
  readonly hosts: readonly string[];
}

/**
 * What a call would do, computed by the server from the call alone and never from the model's words. Approvals are
 * decided on it.
 */
export interface ToolPlan {
  readonly action: ToolAction;
  readonly effect: Effect;
  readonly risk: Risk;
  /**
   * Whether the call sends data where others than the initiator can see it, or changes rights. In a run that has read
   * untrusted content such a call waits for an approval.
   */
  readonly isSink: boolean;
  /** One line: what is done to what. */
  readonly title: string;
  readonly preview: Preview;
  /** Hash of what the tool says of itself: an approval holds for this tool only. */
  readonly toolHash: string;
  readonly serverId?: string | undefined;
  /** Name of that MCP server, by which rules of policies name it. */
  readonly serverName?: string | undefined;
  /** What the owner has set for this tool of an MCP server; of it and the policy the stricter decides. */
  readonly ownRule?: 'allow' | 'ask' | undefined;
}
