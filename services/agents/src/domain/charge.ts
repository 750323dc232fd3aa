/** Identifies what is charged: one attempt at one step. Charging it again changes nothing. */
export interface ChargeKey {
  readonly source: 'chat' | 'agent_run';
  readonly runId: string;
  /** Number of a step, or what is instead of one. */
  readonly step: number | string;
  readonly attempt: number;
}

/** What usage is counted by. */
export interface Attribution {
  readonly tenant: string;
  readonly feature: 'chat' | 'agent_run';
  readonly model: string;
  readonly userId: string;
  readonly apiKeyId?: string | undefined;
  readonly agentId?: string | undefined;
  readonly workspaceId?: string | undefined;
}
