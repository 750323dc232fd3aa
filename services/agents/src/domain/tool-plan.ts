/**
 * The effect of repeating a call: `none`, `idempotent` if repeating has no further effect, `once` if it takes effect
 * again.
 */
export type Effect = 'none' | 'idempotent' | 'once';

/** The kind of thing that a call does. Approval policies and the server's own rules decide by it. */
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

/** The data that a person is shown before deciding. */
export interface Preview {
  /** A diff or another text, in Markdown. */
  readonly text: string;
  readonly targets: readonly string[];
  readonly recipients: readonly string[];
  readonly hosts: readonly string[];
}

/**
 * What a call would do. The server computes it from the call alone, never from the model's words. Approvals are decided
 * on it.
 */
export interface ToolPlan {
  readonly action: ToolAction;
  readonly effect: Effect;
  readonly risk: Risk;
  /**
   * Whether the call sends data where people other than the initiator can see it, or changes rights. In a run that has
   * read untrusted content such a call needs an approval.
   */
  readonly isSink: boolean;
  /** One line that names the action and its target. */
  readonly title: string;
  readonly preview: Preview;
  /** The resources that title and preview are about. Only people who can read them all see these. */
  readonly resourceIds?: readonly string[] | undefined;
  /** A hash of the tool's schema. An approval is valid only while it stays the same. */
  readonly toolHash: string;
  readonly serverId?: string | undefined;
  /** The name of that MCP server, which rules of policies refer to. */
  readonly serverName?: string | undefined;
  /** The owner's setting for this tool of an MCP server. The stricter of it and the policy applies. */
  readonly ownRule?: 'allow' | 'ask' | undefined;
}
