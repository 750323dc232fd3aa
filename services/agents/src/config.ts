import { integer, type Table, type Values } from '@commonplace/kit/config';
import { SECRETS_KEY } from '@commonplace/kit/secrets';
import { OUTGOING_SETTINGS } from '@commonplace/platform/settings';
import { chatModelSettings } from './models/settings.js';

export const config = {
  ...chatModelSettings,
  runWorkers: {
    variable: 'COMMONPLACE_RUN_WORKERS',
    help: 'runs that this process works on at the same time',
    parse: integer(0, 1000),
    fallback: 16,
  },
  runsRunning: {
    variable: 'COMMONPLACE_RUNS_RUNNING',
    help: 'runs of one tenant that run at the same time',
    parse: integer(1, 10_000),
    fallback: 50,
  },
  runsPerAgent: {
    variable: 'COMMONPLACE_RUNS_PER_AGENT',
    help: 'runs of one agent, or of one person with the built-in assistant, that run at the same time',
    parse: integer(1, 1000),
    fallback: 5,
  },
  runsWaiting: {
    variable: 'COMMONPLACE_RUNS_WAITING',
    help: 'maximum runs of one tenant that wait for their turn',
    parse: integer(1, 100_000),
    fallback: 500,
  },
  runSteps: {
    variable: 'COMMONPLACE_RUN_STEPS',
    help: 'maximum steps of one run',
    parse: integer(1, 1000),
    fallback: 50,
  },
  runMinutes: {
    variable: 'COMMONPLACE_RUN_MINUTES',
    help: 'minutes after which a run that has started ends, not counting the time that it waits for approvals',
    parse: integer(1, 1440),
    fallback: 30,
  },
  runOutputKb: {
    variable: 'COMMONPLACE_RUN_OUTPUT_KB',
    help: 'maximum KiB of the text that one run writes; a longer reply ends there',
    parse: integer(1, 4096),
    fallback: 1024,
  },
  runMetadataBytes: {
    variable: 'COMMONPLACE_RUN_METADATA_BYTES',
    help: 'maximum bytes of the metadata with which a client starts a run',
    parse: integer(1024, 8_388_608),
    fallback: 16_384,
  },
  runParametersBytes: {
    variable: 'COMMONPLACE_RUN_PARAMETERS_BYTES',
    help: 'maximum bytes of the parameters in the input of a run',
    parse: integer(1024, 8_388_608),
    fallback: 262_144,
  },
  memoryMetadataBytes: {
    variable: 'COMMONPLACE_MEMORY_METADATA_BYTES',
    help: 'maximum bytes of the metadata of a memory',
    parse: integer(1024, 8_388_608),
    fallback: 16_384,
  },
  runDays: {
    variable: 'COMMONPLACE_RUN_DAYS',
    help: 'days that a run is kept after it has ended',
    parse: integer(1, 3650),
    fallback: 90,
  },
  stepDays: {
    variable: 'COMMONPLACE_STEP_DAYS',
    help: 'days that inputs and outputs of steps are kept after their run has ended',
    parse: integer(1, 3650),
    fallback: 30,
  },
  agentsPerUser: {
    variable: 'COMMONPLACE_AGENTS_PER_USER',
    help: 'agents that one person may own',
    parse: integer(1, 100_000),
    fallback: 100,
  },
  agentWorkspaces: {
    variable: 'COMMONPLACE_AGENT_WORKSPACES',
    help: 'workspaces in which one agent may act',
    parse: integer(1, 100),
    fallback: 100,
  },
  agentPins: {
    variable: 'COMMONPLACE_AGENT_PINS',
    help: 'resources that may be pinned to one agent',
    parse: integer(1, 50),
    fallback: 50,
  },
  agentSkills: {
    variable: 'COMMONPLACE_AGENT_SKILLS',
    help: 'skills that one agent may have',
    parse: integer(1, 50),
    fallback: 50,
  },
  skillFiles: {
    variable: 'COMMONPLACE_SKILL_FILES',
    help: 'files that one skill may have',
    parse: integer(0, 20),
    fallback: 20,
  },
  skillBytes: {
    variable: 'COMMONPLACE_SKILL_BYTES',
    help: 'bytes of the content of one skill, without its files',
    parse: integer(1024, 65_536),
    fallback: 65_536,
  },
  skillFileBytes: {
    variable: 'COMMONPLACE_SKILL_FILE_BYTES',
    help: 'bytes of one file of a skill',
    parse: integer(1024, 1_048_576),
    fallback: 1_048_576,
  },
  skillFilesBytes: {
    variable: 'COMMONPLACE_SKILL_FILES_BYTES',
    help: 'bytes of the files of a skill together, without those that are resources',
    // A record of the database has at most 16 MiB, with what escapes add.
    parse: integer(1024, 8_388_608),
    fallback: 8_388_608,
  },
  chatMessages: {
    variable: 'COMMONPLACE_CHAT_MESSAGES',
    help: 'messages that one chat session may have',
    parse: integer(10, 1_000_000),
    fallback: 10_000,
  },
  webFetchBytes: {
    variable: 'COMMONPLACE_WEB_FETCH_BYTES',
    help: 'bytes of a web page that an agent reads; larger ones are not read',
    // A decoded page may be three times as large, and has to fit into a message between services.
    parse: integer(1024, 3 * 1024 * 1024),
    fallback: 2 * 1024 * 1024,
  },
  webFetchSeconds: {
    variable: 'COMMONPLACE_WEB_FETCH_SECONDS',
    help: 'seconds that fetching a web page for an agent may take',
    parse: integer(1, 300),
    fallback: 20,
  },
  webFetchLength: {
    variable: 'COMMONPLACE_WEB_FETCH_LENGTH',
    help: 'maximum characters of a web page that an agent receives',
    parse: integer(1000, 1_000_000),
    fallback: 24_000,
  },
  ...OUTGOING_SETTINGS,
  secretsKey: SECRETS_KEY,
  memories: {
    variable: 'COMMONPLACE_MEMORIES',
    help: 'memories that a person, a workspace, an Org or an agent may have',
    parse: integer(1, 1_000_000),
    fallback: 10_000,
  },
  memoryTokens: {
    variable: 'COMMONPLACE_MEMORY_TOKENS',
    help: 'maximum tokens of memories in the prompt of a run',
    parse: integer(0, 100_000),
    fallback: 2_000,
  },
  mcpServers: {
    variable: 'COMMONPLACE_MCP_SERVERS',
    help: 'MCP servers that one agent may have',
    parse: integer(0, 100),
    fallback: 20,
  },
  mcpTools: {
    variable: 'COMMONPLACE_MCP_TOOLS',
    help: 'tools of one MCP server that are used; further ones are left out',
    parse: integer(1, 1000),
    fallback: 200,
  },
  mcpResultKb: {
    variable: 'COMMONPLACE_MCP_RESULT_KB',
    help: 'maximum KiB of an MCP tool result that a model receives; the rest is cut off',
    parse: integer(1, 1024),
    fallback: 256,
  },
  mcpFailures: {
    variable: 'COMMONPLACE_MCP_FAILURES',
    help: 'consecutive failed calls after which an MCP server is switched off',
    parse: integer(1, 1000),
    fallback: 10,
  },
} satisfies Table;

export type Settings = Values<typeof config>;

export const DAY_MS = 24 * 3600 * 1000;
/** Number of latest messages of a session that a model receives. */
export const PROMPT_MESSAGES = 200;
