/** Identifies a charge, which is for one attempt at one step. Repeating it has no effect. */
export interface ChargeKey {
  readonly source: 'chat' | 'agent_run';
  readonly runId: string;
  /** The number of a step, or a text in its place, as for an approval. */
  readonly step: number | string;
  readonly attempt: number;
}

/** The dimensions that usage is counted by. */
export interface Attribution {
  readonly tenant: string;
  readonly feature: 'chat' | 'agent_run';
  readonly model: string;
  readonly userId: string;
  readonly apiKeyId?: string | undefined;
  readonly agentId?: string | undefined;
  readonly workspaceId?: string | undefined;
}
