import { choices, type ShippedTemplate } from './shipped.js';

export const project: ShippedTemplate = {
  slug: 'project',
  name: 'Project',
  description: 'One project from brief to retrospective: goals, plan, tasks, risks and decisions in one place.',
  icon: '🎯',
  category: 'Planning',
  tree: [
    {
      type: 'document',
      name: 'Brief',
      icon: '📄',
      content: `# Project brief

| | |
|---|---|
| **Owner** | _one person_ |
| **Start – end** | _dates_ |
| **Status** | on track |

## Problem

_Who has it, how often, and what does it cost them?_

## Goal

_What is true when we are done that is not true now? Give a number._

## Not in scope

- _What a reader might expect and will not get._

## How it goes

Tasks are in [the plan](resource:@tasks), what may go wrong in [risks](resource:@risks), what was settled in
[decisions](resource:@decisions).
`,
    },
    {
      key: 'tasks',
      type: 'table',
      name: 'Tasks',
      icon: '✅',
      columns: [
        { id: 'task', name: 'Task', required: true },
        { id: 'status', name: 'Status', type: 'select', options: choices('To do', 'Doing', 'Blocked', 'Done') },
        { id: 'owner', name: 'Owner', type: 'user' },
        { id: 'due', name: 'Due', type: 'date' },
        { id: 'effort', name: 'Days', type: 'number', options: { precision: 1, min: 0 } },
        { id: 'notes', name: 'Notes', type: 'long_text' },
      ],
      rows: [
        ['Agree on the brief', 'Doing'],
        ['Name who decides what', 'To do'],
        ['Show a first version to three users', 'To do'],
        ['Write down what we learned', 'To do'],
      ],
    },
    {
      key: 'risks',
      type: 'table',
      name: 'Risks',
      icon: '⚠️',
      columns: [
        { id: 'risk', name: 'Risk', required: true },
        { id: 'likelihood', name: 'Likelihood', type: 'select', options: choices('Low', 'Medium', 'High') },
        { id: 'impact', name: 'Impact', type: 'select', options: choices('Low', 'Medium', 'High') },
        { id: 'answer', name: 'What we do about it', type: 'long_text' },
      ],
      rows: [['The one person who knows this is away', 'Medium', 'High', 'Two people work on each part.']],
    },
    {
      key: 'decisions',
      type: 'document',
      name: 'Decisions',
      icon: '⚖️',
      content: `# Decisions

Newest first. A decision has a date, a name and a reason.

## _Date_ – _What was decided_

- **Who:** _name_
- **Why:** _the reason that convinced us_
- **Instead of:** _what we did not choose_
- **We would change it if:** _what would have to be true_
`,
    },
    {
      type: 'folder',
      name: 'Status reports',
      icon: '📈',
      children: [
        {
          type: 'document',
          name: 'Report: first week',
          content: `# Report

**On track · at risk · off track** – _choose one and say why in a sentence._

## Done

- …

## Next

- …

## Needs help

- _From whom, by when?_
`,
        },
      ],
    },
    {
      type: 'document',
      name: 'Retrospective',
      icon: '🔁',
      content: `# Retrospective

Everybody writes alone for ten minutes, then we read and talk.

## What went well

## What did not

## What surprised us

## What we do differently next time

- [ ] _Action – owner – date_
`,
    },
  ],
};
