import { choices, type ShippedTemplate } from './shipped.js';

export const productDocs: ShippedTemplate = {
  slug: 'product-docs',
  name: 'Product documentation',
  description:
    'Documentation for the users of a product: getting started, guides, reference, troubleshooting, changes.',
  icon: '📚',
  category: 'Product',
  tree: [
    {
      type: 'document',
      name: 'Overview',
      icon: '🏠',
      content: `# _Product_

_What it does, for whom, in two sentences._

- **New?** [Get started in five minutes](resource:@start).
- **Doing something?** The guides go step by step.
- **Looking something up?** See [settings](resource:@settings).
- **Something is wrong?** [Troubleshooting](resource:@trouble).
`,
    },
    {
      key: 'start',
      type: 'document',
      name: 'Get started',
      icon: '🚀',
      content: `# Get started

You need: _what, which version, which rights._

1. **Install.**

   \`\`\`sh
   # the one command
   \`\`\`

2. **Set up.** _The least that has to be set._
3. **See it work.** _What the reader does, and what they see then._

## What next

- [A first guide](resource:@guide)
`,
    },
    {
      type: 'folder',
      name: 'Guides',
      icon: '🧩',
      children: [
        {
          key: 'guide',
          type: 'document',
          name: 'How to do one thing',
          content: `# How to _do one thing_

_When you need this, in one sentence._

## Before you begin

- …

## Steps

1. …
2. …

## Check

_How the reader knows that it worked._

## See also

- [Settings](resource:@settings)
`,
        },
      ],
    },
    {
      type: 'folder',
      name: 'Reference',
      icon: '📖',
      children: [
        {
          key: 'settings',
          type: 'table',
          name: 'Settings',
          columns: [
            { id: 'name', name: 'Name', required: true },
            { id: 'type', name: 'Type', type: 'select', options: choices('Text', 'Number', 'Switch', 'List') },
            { id: 'default', name: 'Default' },
            { id: 'meaning', name: 'What it does', type: 'long_text' },
            { id: 'since', name: 'Since' },
          ],
          rows: [['port', 'Number', '8080', 'Port that the server listens on.', '1.0']],
        },
        {
          type: 'document',
          name: 'Glossary',
          content: `# Glossary

**Term** – what it means here, in one sentence, with an example.
`,
        },
      ],
    },
    {
      key: 'trouble',
      type: 'document',
      name: 'Troubleshooting',
      icon: '🛟',
      content: `# Troubleshooting

## _The message that the user sees, word for word_

**Why:** _the cause_

**What to do:** _the steps_
`,
    },
    {
      type: 'document',
      name: 'Release notes',
      icon: '📣',
      content: `# Release notes

## 1.0 – _date_

### New

- …

### Better

- …

### Fixed

- …
`,
    },
  ],
};
