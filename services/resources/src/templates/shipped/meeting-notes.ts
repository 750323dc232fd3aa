import { choices, type ShippedTemplate } from './shipped.js';

export const meetingNotes: ShippedTemplate = {
  slug: 'meeting-notes',
  name: 'Meeting notes',
  description: 'Agendas that lead somewhere, notes that can be found, and actions that nobody forgets.',
  icon: '🗓️',
  category: 'Team',
  tree: [
    {
      type: 'document',
      name: 'How we meet',
      content: `# How we meet

1. Whoever calls the meeting writes the agenda the day before, by copying one of the pages below.
2. Each item says what it is for: **inform**, **discuss** or **decide**.
3. One person takes notes; another keeps the time.
4. Actions go into [the list of actions](resource:@actions), each with one owner and one date.

A meeting without a decision to make can be a page.
`,
    },
    {
      key: 'actions',
      type: 'table',
      name: 'Actions',
      columns: [
        { id: 'action', name: 'Action', required: true },
        { id: 'owner', name: 'Owner', type: 'user' },
        { id: 'due', name: 'Due', type: 'date' },
        { id: 'status', name: 'Status', type: 'select', options: choices('Open', 'Done', 'Dropped') },
        { id: 'meeting', name: 'From', type: 'resource' },
      ],
      rows: [['Copy an agenda for the next meeting', null, null, 'Open']],
    },
    {
      type: 'folder',
      name: 'Agendas to copy',
      children: [
        {
          type: 'document',
          name: 'Weekly team meeting',
          content: `# Weekly team meeting – _date_

**There:** · **Notes:** · **Time:**

| Minutes | Item | For |
|---|---|---|
| 5 | Good news | inform |
| 10 | Open actions | decide |
| 25 | _Topic_ | discuss |
| 5 | What do we tell others? | decide |

## Notes

## Decisions

## Actions

- [ ] _Action – owner – date_
`,
        },
        {
          type: 'document',
          name: 'One to one',
          content: `# _Name_ and _name_ – _date_

## How are you?

## What is on your mind?

## Since last time

- [ ] …

## What would make next week better?

## What I would like to hear from you

- …
`,
        },
        {
          type: 'document',
          name: 'Decision meeting',
          content: `# Decision: _the question, in one line_

**Decides:** _one name_ · **Read before:** _page_

## Options

1. _Option_ – for, against, cost
2. _Option_ – for, against, cost

## Outcome

_What, why, from when, and when we look at it again._
`,
        },
      ],
    },
    { type: 'folder', name: 'Notes' },
  ],
};
