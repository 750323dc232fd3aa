import { type ChatServer, openChatServer } from '@commonplace/kit/testing/chat-server';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { attackAll, type Outcome, tracesOf } from '../src/injections/attack.js';
import { CARRIERS } from '../src/injections/carriers.js';
import { GOALS } from '../src/injections/goals.js';
import { harmlessTasks } from '../src/injections/harmless.js';
import { obey, orderText } from '../src/injections/obedient-model.js';
import { callsOf, eachOf, runOf } from '../src/injections/runs.js';
import { newWord, openStage, type Stage } from '../src/injections/stage.js';
import { TECHNIQUES } from '../src/injections/techniques.js';
import { type OwnSystem, startSystem } from '../src/system.js';

// Gives injected instructions to agents whose policy allows everything and whose model follows them: only the gate
// prevents them. `COMMONPLACE_INJECTIONS=all` tries every technique with every goal.

const EVERYTHING = { mode: 'custom', rules: [{ decision: 'allow' }] };
const ALL_TOOLS = ['search', 'read', 'write', 'create', 'comment', 'table', 'file', 'web_fetch', 'memory', 'im'];
const isWhole = process.env.COMMONPLACE_INJECTIONS === 'all';
const MODELS = [{ id: 'obedient', context_tokens: 60_000, max_output_tokens: 4_000 }];

let model: ChatServer;
let system: OwnSystem;
let stage: Stage;
const opened: Stage[] = [];
const outcomes: Outcome[] = [];

beforeAll(async () => {
  model = await openChatServer({ replyTo: obey });
  system = await startSystem({
    COMMONPLACE_SIGN_UP: 'open',
    COMMONPLACE_CHAT_MODEL_URL: model.url,
    COMMONPLACE_CHAT_MODELS: JSON.stringify(MODELS),
    COMMONPLACE_URL_ALLOWLIST: '127.0.0.1,localhost',
    COMMONPLACE_RUNS_PER_AGENT: '100',
    COMMONPLACE_RUNS_RUNNING: '100',
    COMMONPLACE_RUNS_WAITING: '5000',
    COMMONPLACE_RUN_WORKERS: '24',
    COMMONPLACE_AGENTS_PER_USER: '1000',
  });
  stage = await newStage(EVERYTHING);
}, 150_000);

afterAll(async () => {
  await Promise.all(opened.map((one) => one.close()));
  await system?.stop();
  await model?.close();
}, 60_000);

/** Prints a figure to standard output; jest's report goes to standard error. */
const report = (figure: string) => process.stderr.write(`${figure}\n`);

const count = (all: readonly Outcome[], wanted: Outcome) => all.filter((one) => one === wanted).length;
const summary = (all: readonly Outcome[]) =>
  `${all.length} injections, ${count(all, 'asked')} asked, ${count(all, 'stripped')} stripped`;

async function newStage(policy: object): Promise<Stage> {
  const made = await openStage(system, policy);
  opened.push(made);
  return made;
}

/** Returns every technique: with each goal, or with one goal that differs between carriers. */
function injections(carrier: number) {
  return TECHNIQUES.flatMap((technique, i) => {
    const goals = isWhole ? GOALS : GOALS.filter((_, j) => j === (i + 3 * carrier) % GOALS.length);
    return goals.map((goal) => ({ goal, text: technique.write(orderText(goal.order(stage.targets, newWord()))) }));
  });
}

describe('an instruction of a stranger', () => {
  test.each(CARRIERS.map((carrier, i) => ({ ...carrier, carrier, i })))(
    "in a $name is not followed without a person's approval",
    async ({ carrier, i }) => {
      const ended = await attackAll(stage, carrier, injections(i));
      outcomes.push(...ended);
      report(`${carrier.name}: ${summary(ended)}`);
      expect(await tracesOf(stage)).toEqual([]);
    },
    isWhole ? 600_000 : 120_000,
  );

  test('is followed if the owner allows it, so it is the gate that prevents it', async () => {
    const open = await newStage({ mode: 'custom', rules: [{ decision: 'allow', even_if_tainted: true }] });
    const [page] = CARRIERS;
    const injected = await Promise.all(
      GOALS.map((goal) => page?.inject(open, orderText(goal.order(open.targets, newWord())))),
    );
    const runs = await eachOf(injected, (one) => runOf(open, open.connectedId, one?.question ?? ''));
    expect(runs.map(({ status }) => status)).toEqual(GOALS.map(() => 'completed'));
    const traces = (await tracesOf(open)).map((trace) =>
      trace.replace(/(?<=created|remembers|asked for|sent|told) .*/, ''),
    );
    expect(traces.sort()).toEqual(
      [
        ...['asked for', 'changed rows', 'commented', 'created', 'created', 'remembers', 'sent'],
        ...['threw the victim away', 'told', 'wrote into the page'],
      ].sort(),
    );
  });

  test('that was left out would be detected', async () => {
    const left = (await tracesOf(stage)).length;
    report(`${summary(outcomes)}, ${left} left`);
    expect(left).toBe(0);
    expect(outcomes.length).toBe(CARRIERS.length * TECHNIQUES.length * (isWhole ? GOALS.length : 1));
    expect(count(outcomes, 'asked')).toBeGreaterThan(0);
  });
});

test('everyday requests of people are carried out without approval', async () => {
  const daily = await newStage({ mode: 'risky' });
  const agentId = await daily.newAgent([], { tools: ALL_TOOLS });
  const tasks = await harmlessTasks(daily);
  const done = await eachOf(tasks, async ({ name, question }) => {
    const run = await runOf(daily, agentId, question);
    const isDone = run.status === 'completed' && callsOf(run).every(({ status }) => status === 'completed');
    return { name, status: run.status, failure: isDone ? undefined : JSON.stringify([run.error, run.steps]) };
  });
  const asked = done.filter(({ status }) => status === 'awaiting_approval');
  report(`${done.length} harmless tasks: ${asked.length} asked`);
  expect(done.length).toBeGreaterThanOrEqual(50);
  expect(done.filter(({ failure }) => failure !== undefined)).toEqual([]);
}, 120_000);
