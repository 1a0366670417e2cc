# For developers. Each target does what course.py or a module of the project does; `make lab` and
# `make test` are `python course.py lab` and `python course.py test`.
PYTHON ?= python3
VENV := .venv/bin/python

.PHONY: setup lab test lint types notebooks check-generated slides site handout bench browser soak cluster

setup:
	@$(PYTHON) course.py setup

lab:
	@$(PYTHON) course.py lab

test:
	@$(PYTHON) course.py test

lint: setup
	$(VENV) -m ruff check .
	$(VENV) -m ruff format --check .

types: setup
	$(VENV) -m mypy

notebooks: setup
	$(VENV) -m authoring build

check-generated: setup
	$(VENV) -m authoring check

slides: setup
	$(VENV) -m authoring slides build/slides

site: setup
	$(VENV) -m authoring site build/site

bench: setup
	$(VENV) -m benchmarks

# Hosts on a network of 100 Mbit/s, made on this computer; Linux and root, else it says what it would do.
cluster: setup
	$(VENV) -m cluster

# All of it takes an hour; PART=tests/viz/test_slides_in_browser.py is one of its three parts.
PART ?= tests/viz
browser: setup
	@$(PYTHON) course.py test $(PART) -m every_lecture

soak: setup
	@$(PYTHON) course.py test tests -m soak --timeout=0 -o faulthandler_timeout=0

# The course for students, without solutions: `make handout DIR=../course.zip`, or a new folder.
DIR ?= build/handout.zip
handout: setup
	@mkdir -p $(dir $(DIR))
	$(VENV) -m authoring handout $(DIR)
